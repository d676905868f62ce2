// lifetimes.cpp -- see lifetimes.h.
#include "lifetimes.h"

#include "model/front/program/layout.h"
#include "model/front/program/unwritten.h"

#include <algorithm>
#include <string>
#include <utility>

namespace syncopate::explored {

void lifetimes::forget() {
  heap_.forget();
  objects_.forget();
}

// ---- variables on stacks ----------------------------------------------------------------------

// Somebody accesses what may be a variable on a stack. Of another thread's stack that is right only
// if the function is still there, and the access in order behind the last return to below it: what
// it would mean else is a variable of a function that has returned, or one that nobody may know of.
void lifetimes::note_stack(address at, const char* what, place from) {
  using namespace instrument::layout;
  if (at < stacks || at >= stacks + stack_slots * stack_slot) return;
  for (unsigned t = 0; t < threads_.count(); ++t) {
    thread& owner = threads_[t];
    if (owner.fiber == nullptr) continue;
    const bool is_other = t != threads_.current();
    if (is_other && t != 0 && owner.now == thread_state::ended)
      check_locals(static_cast<thread_index>(t), at, what, from);
    if (at < owner.stack_low || at >= owner.stack_high) continue;
    if (is_other) check_alive(static_cast<thread_index>(t), at, what, from);
    owner.touched = std::min(owner.touched, at);
    return;
  }
}

// The thread has ended.
void lifetimes::check_locals(thread_index t, address at, const char* what, place from) {
  const auto locals = instrument::tls_of(threads_[t].fiber);
  if (at < locals.low || at >= locals.high) return;
  ends_.fail(failure_kind::use_after_free,
             std::string(what) + " of a thread-local variable of thread " + std::to_string(t) +
                 ", which has ended",
             from);
}

void lifetimes::check_alive(thread_index t, address at, const char* what, place from) {
  const thread& owner = threads_[t];
  // The last to leave what was there. (Those who left less later stand behind it.)
  const auto last = std::find_if(owner.lefts.rbegin(), owner.lefts.rend(),
                                 [&](const left_frames& l) { return l.up_to > at; });
  if (last != owner.lefts.rend() && !known().covers(t, last->time))
    ends_.fail(failure_kind::race,
               std::string(what) + " and " + name(touch::leave) + " by thread " +
                   std::to_string(t) + " are not ordered",
               from, last->where, at);
  // (main's variables are there until it returns; what runs then, runs on its stack.)
  if ((owner.now == thread_state::ended && t != 0 && !owner.exits) || at < owner.stands)
    ends_.fail(failure_kind::use_after_free,
               std::string(what) + " of a variable of thread " + std::to_string(t) +
                   " whose function has returned",
               from, last != owner.lefts.rend() ? last->where : nullptr, at);
}

// The calling thread's stack ends there now: leaving its variables below is writing to them. (Where
// a function does not tell of its return, it is noted at the thread's next operation, where frame
// pointers tell how far the stack goes: later than it happens. Whoever comes in between is in order
// with it, or is found.)
void lifetimes::leave_frames(address up_to, place where) {
  if (up_to == 0) return;
  thread& t = threads_.running();
  end_objects_on_stack(up_to);
  while (!t.lefts.empty() && t.lefts.back().up_to <= up_to) t.lefts.pop_back();
  t.lefts.push_back({up_to, known().at[threads_.current()], where});
  const address low = std::exchange(t.touched, std::max(t.touched, up_to));
  if (low >= up_to) return;
  const access_record* const other = shadow_.leave(low, up_to, threads_.current(), known(), where);
  if (other == nullptr) return;
  const access_record record = *other;
  ends_.fail(failure_kind::race,
             std::string(name(touch::leave)) + " and " + name(record.how) + " by thread " +
                 std::to_string(record.thread) + " are not ordered",
             where, record.where, shadow_.raced_at());
}

// ---- atomic variables -------------------------------------------------------------------------

location_id lifetimes::location_of(address at, unsigned bytes, place from) {
  check_freed(at, bytes, "an atomic access", from);
  const location_id id = memory_.find(at, bytes);
  if (id == memory::none)
    ends_.fail(failure_kind::unsupported,
               "atomic accesses of different sizes to overlapping memory are not modeled", from);
  return id;
}

// ---- heap blocks ------------------------------------------------------------------------------

// A block is there for others as soon as its allocation is in order before what they do.
void lifetimes::check_order_behind(const heap_block& b, address at, const char* what, place from) {
  if (b.thread == threads_.current() || known().covers(b.thread, b.time)) return;
  ends_.fail(failure_kind::race,
             std::string(what) + " and the allocation of the memory by thread " +
                 std::to_string(b.thread) + " are not ordered",
             from, b.where, at);
}

bool lifetimes::is_of_other(address at) {
  if (const heap_block* const b = heap_.block_of(at)) return b->thread != threads_.current();
  const thread& me = threads_.running();
  return at < me.stack_low || at >= me.stack_high;
}

// (Memory that nobody fills, as that of static variables, never looks unwritten.)
void lifetimes::check_written(address at, std::size_t bytes, bool is_atomic, place from) {
  if (!instrument::unwritten::are(at, bytes) || shadow_.is_written(at, bytes)) return;
  if (!is_atomic && !is_of_other(at)) return;
  const heap_block* const block = heap_.block_of(at);
  ends_.fail(
      failure_kind::check,
      std::string(is_atomic ? "an atomic access" : "a read") + " of memory that nobody has written",
      from, block != nullptr ? block->where : nullptr, at);
}

void lifetimes::fail_freed(address at, std::size_t bytes, const char* what, place from) {
  const auto* block = shadow_.freed_at(at, bytes);
  ends_.fail(
      failure_kind::use_after_free,
      std::string(what) + " of memory that thread " + std::to_string(block->thread) + " has freed",
      from, block->where, at);
}

void lifetimes::begin_block(address at, std::size_t bytes, place from) {
  heap_.note_allocated(at, bytes, from);
  shadow_.forget(at, bytes);
  heap_.end(at, bytes);
  // (What the C library allocates for itself it hands to threads in ways that are not seen.)
  if (from != nullptr)
    heap_.begin(at, {bytes, threads_.current(), known().at[threads_.current()], from});
  end_objects(at, bytes);
}

void lifetimes::fail_unordered_release(const access_record* other, place from) {
  if (other == nullptr) return;
  const access_record record = *other;
  ends_.fail(failure_kind::race,
             "the release of memory and an access by thread " + std::to_string(record.thread) +
                 " are not ordered",
             from, record.where, shadow_.raced_at());
}

void lifetimes::end_block(address at, std::size_t bytes, place from) {
  if (const auto* block = shadow_.freed_at(at, 1))
    ends_.fail(failure_kind::double_free,
               "memory that thread " + std::to_string(block->thread) + " has freed is freed again",
               from, block->where, at);
  if (const auto [offset, block] = heap_.inside(at); offset != 0)
    ends_.fail(failure_kind::check,
               "free of an address " + std::to_string(offset) + " bytes inside a block", from,
               block->where);
  check_allocated(at, "the release", from);
  end_objects_with_memory(at, bytes, from);
  heap_.end(at, bytes);
  fail_unordered_release(
      shadow_.access(at, bytes, touch::release, threads_.current(), known(), from), from);
  heap_.note_freed(at, bytes, from);
  shadow_.add_freed({at, bytes, threads_.current(), from});
}

void lifetimes::unmap(address at, std::size_t bytes, place from) {
  fail_unordered_release(shadow_.races_with(at, bytes, touch::release, threads_.current(), known()),
                         from);
  end_objects(at, bytes);
}

// ---- pthread's objects ------------------------------------------------------------------------

// (On a stack, the bytes may be another variable by now: that of a block's next turn.)
void lifetimes::check_new(address at, const char* what, place from) {
  using namespace instrument::layout;
  const bool on_stack = at - stacks < stack_slots * stack_slot;
  const object_table::object* const before = objects_.initialized(at, what);
  if (before != nullptr && !on_stack)
    ends_.fail(failure_kind::check,
               std::string("initialization of a ") + what +
                   " that is initialized already and has not been destroyed",
               from, before->where);
}

void lifetimes::begin_wait(address condition, address mutex, place from) {
  if (const auto* const w = objects_.conflicting(condition, mutex, threads_.current(), known()))
    ends_.fail(failure_kind::check,
               "wait at a condition variable while thread " + std::to_string(w->thread) +
                   " waits there with another mutex",
               from, w->where);
  objects_.begin_wait({condition, mutex, from, threads_.current(), 0});
}

void lifetimes::end_wait(address condition) {
  objects_.end_wait(condition, threads_.current(), known().at[threads_.current()]);
}

// The bytes are something else now.
void lifetimes::end_these_objects(address at, std::size_t bytes) {
  meetings_.sharings.clear_within(at, bytes);
  objects_.end(at, bytes);
}

// Their memory goes: none may be held.
void lifetimes::end_objects_with_memory(address at, std::size_t bytes, place from) {
  if (const auto* const o = objects_.held_in(at, bytes))
    ends_.fail(failure_kind::check,
               std::string("the memory of a ") + o->what + " that is held is gone", from, o->where);
  end_objects(at, bytes);
}

// (Who leaves one held has not destroyed it: POSIX does not say that this is wrong.)
void lifetimes::end_objects_on_stack(address up_to) {
  if (threads_.running().fiber != nullptr)
    end_objects(threads_.running().stack_low, up_to - threads_.running().stack_low);
}

}  // namespace syncopate::explored
