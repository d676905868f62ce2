// lifetimes.cpp -- what is not there yet, or not any more: variables of functions that have
// returned, heap blocks whose allocation is not ordered before their use, pthread's objects that
// are initialized twice or held when their memory goes.
#include "machine.h"

#include "model/front/program/layout.h"

#include <algorithm>
#include <utility>

namespace syncopate::explored {

// ---- variables on stacks ----------------------------------------------------------------------

// Somebody accesses what may be a variable on a stack. Of another thread's stack that is right only
// if the function is still there, and the access in order behind the last return to below it: what
// it would mean else is a variable of a function that has returned, or one that nobody may know of.
void machine::note_stack(address at, const char* what, place from) {
  using namespace instrument::layout;
  if (at < stacks || at >= stacks + stack_slots * stack_slot) return;
  for (unsigned t = 0; t < threads_.count(); ++t) {
    thread& owner = threads_[t];
    if (owner.fiber == nullptr) continue;
    if (t != threads_.current() && t != 0 && owner.now == thread_state::ended) {
      const auto locals = instrument::tls_of(owner.fiber);
      if (at >= locals.low && at < locals.high)
        fail(failure_kind::use_after_free,
             std::string(what) + " of a thread-local variable of thread " + std::to_string(t) +
                 ", which has ended",
             from);
    }
    if (at < owner.stack_low || at >= owner.stack_high) continue;
    if (t != threads_.current()) check_alive(static_cast<thread_index>(t), at, what, from);
    owner.touched = std::min(owner.touched, at);
    return;
  }
}

void machine::check_alive(thread_index t, address at, const char* what, place from) {
  const thread& owner = threads_[t];
  // The last to leave what was there. (Those who left less later stand behind it.)
  const auto last = std::find_if(owner.lefts.rbegin(), owner.lefts.rend(),
                                 [&](const left_frames& l) { return l.up_to > at; });
  if (last != owner.lefts.rend() && !memory_.of(threads_.current()).happened.covers(t, last->time))
    fail(failure_kind::race,
         std::string(what) + " and " + name(touch::leave) + " by thread " + std::to_string(t) +
             " are not ordered",
         from, last->where, at);
  // (main's variables are there until it returns; what runs then, runs on its stack.)
  if ((owner.now == thread_state::ended && t != 0) || at < owner.stands)
    fail(failure_kind::use_after_free,
         std::string(what) + " of a variable of thread " + std::to_string(t) +
             " whose function has returned",
         from, last != owner.lefts.rend() ? last->where : nullptr, at);
}

// The calling thread's stack ends there now: leaving its variables below is writing to them. (Where
// a function does not tell of its return, it is noted at the thread's next operation, where frame
// pointers tell how far the stack goes: later than it happens. Whoever comes in between is in order
// with it, or is found.)
void machine::leave_frames(address up_to, place where) {
  if (up_to == 0) return;
  thread& t = me();
  end_objects_on_stack(up_to);
  while (!t.lefts.empty() && t.lefts.back().up_to <= up_to) t.lefts.pop_back();
  t.lefts.push_back({up_to, memory_.of(threads_.current()).happened.at[threads_.current()], where});
  const address low = std::exchange(t.touched, std::max(t.touched, up_to));
  if (low >= up_to) return;
  const access_record* const other =
      shadow_.leave(low, up_to, threads_.current(), memory_.of(threads_.current()).happened, where);
  if (other == nullptr) return;
  const access_record record = *other;
  fail(failure_kind::race,
       std::string(name(touch::leave)) + " and " + name(record.how) + " by thread " +
           std::to_string(record.thread) + " are not ordered",
       where, record.where, shadow_.raced_at());
}

void machine::leaves(address up_to, place where) {
  if (tx_.runs() || me().fiber == nullptr) return;
  if (up_to > me().stack_low && up_to <= me().stack_high) leave_frames(up_to, where);
}

// ---- heap blocks ------------------------------------------------------------------------------

// A block is there for others as soon as its allocation is in order before what they do.
void machine::check_order_behind(const heap_block& b, address at, const char* what, place from) {
  if (b.thread == threads_.current() ||
      memory_.of(threads_.current()).happened.covers(b.thread, b.time))
    return;
  fail(failure_kind::race,
       std::string(what) + " and the allocation of the memory by thread " +
           std::to_string(b.thread) + " are not ordered",
       from, b.where, at);
}

// ---- pthread's objects ------------------------------------------------------------------------

// (On a stack, the bytes may be another variable by now: that of a block's next turn.)
void machine::begin_object(address at, std::size_t bytes, const char* what, place from) {
  using namespace instrument::layout;
  const bool on_stack = at - stacks < stack_slots * stack_slot;
  const object_table::object* const before = objects_.initialized(at, what);
  if (before != nullptr && !on_stack)
    fail(failure_kind::check,
         std::string("initialization of a ") + what +
             " that is initialized already and has not been destroyed",
         from, before->where);
  access(at, bytes, engine::kind::write, from);  // ends what was registered there
  objects_.begin({at, bytes, what, from, true, 0});
}

void machine::hold_object(address at, std::size_t bytes, const char* what, int by, place from) {
  objects_.hold(at, bytes, what, by, from);
}

void machine::begin_wait(address condition, address mutex, place from) {
  const clock& own = memory_.of(threads_.current()).happened;
  if (const auto* const w = objects_.conflicting(condition, mutex, threads_.current(), own))
    fail(failure_kind::check,
         "wait at a condition variable while thread " + std::to_string(w->thread) +
             " waits there with another mutex",
         from, w->where);
  objects_.begin_wait({condition, mutex, from, threads_.current(), 0});
}

void machine::end_wait(address condition) {
  objects_.end_wait(condition, threads_.current(),
                    memory_.of(threads_.current()).happened.at[threads_.current()]);
}

// The bytes are something else now.
void machine::end_these_objects(address at, std::size_t bytes) {
  meetings_.sharings.clear_within(at, bytes);
  objects_.end(at, bytes);
}

// Their memory goes: none may be held.
void machine::end_objects_with_memory(address at, std::size_t bytes, place from) {
  if (const auto* const o = objects_.held_in(at, bytes))
    fail(failure_kind::check, std::string("the memory of a ") + o->what + " that is held is gone",
         from, o->where);
  end_objects(at, bytes);
}

// (Who leaves one held has not destroyed it: POSIX does not say that this is wrong.)
void machine::end_objects_on_stack(address up_to) {
  if (me().fiber != nullptr) end_objects(me().stack_low, up_to - me().stack_low);
}

}  // namespace syncopate::explored
