// engine.cpp -- engine.h's accesses to memory, on the simulated machine.
//
// An access takes effect when the thread is the earliest of all, at its clock, and is then charged
// for: the next one of the same thread comes after that. So accesses take effect in the order in
// which they were begun; what an access costs includes the queue for its line. Where they take time
// to change hands, an access that takes one away is begun when the request has reached the line.
//
// Memory order (the tag stands at its site below)
//   [H]  sequentially consistent: the threads of a machine are one of the host's, and so in order;
//        between processes that share memory, this and the host's own order are all there is.
#include "model/front/engine.h"

#include "model/simulated/report/sections.h"
#include "world.h"

#include <cstring>

#include "model/front/libc/native_time.h"
#include "model/front/names/names.h"

namespace syncopate::engine {

using namespace simulated;

namespace {

// Charges for an access that takes effect now. In a transaction: marks the lines and keeps the old
// contents, before they are written.
inline void charge(world& w, thread& me, address at, std::size_t bytes, use what, place where) {
  if (w.htm.any()) [[unlikely]]
    w.htm.at_place(where);
  if (watched_sections != nullptr) [[unlikely]]
    watched_sections->accessed(me, at, bytes, what, where);
  ++me.accesses;
  if (instrument::native_charge != 0) [[unlikely]]
    charge_native(w, me);
  const cycles begun = me.clock;
  const cycles done = w.memory.access(me.processor, at, bytes, what, begun);
  const cycles work = w.machine.core.access_cycles;
  me.clock = done;
  w.gather.accessed(me, begun);
  me.clock += work;
  if (me.slowed != 0) [[unlikely]] {
    // Siblings share the core's execution, not the latency of what is further away.
    me.slow_down(work + std::min<cycles>(done - begun, w.machine.l1.latency));
  }
  if (me.in_transaction) [[unlikely]]
    w.htm.accessed(me, at, bytes, what);
}

// Everything that a write entails beside its price.
inline void announce_write(world& w, thread& me, address at, std::size_t bytes, cycles when) {
  w.htm.about_to_write(me, at, bytes);
  const line last = w.memory.line_of(at + bytes - 1);
  for (line l = w.memory.line_of(at); l <= last; ++l) w.watching.written(l, me, when);
}

word read(address at, unsigned bytes) {
  if (bytes <= 8) return read_word(at, bytes);
  word value;
  std::memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
  return value;
}

void write(address at, unsigned bytes, word value) {
  // One OS thread of each process: the compiler makes single moves of these.
  switch (bytes) {
    case 1: *reinterpret_cast<volatile std::uint8_t*>(at) = static_cast<std::uint8_t>(value); break;
    case 2:
      *reinterpret_cast<volatile std::uint16_t*>(at) = static_cast<std::uint16_t>(value);
      break;
    case 4:
      *reinterpret_cast<volatile std::uint32_t*>(at) = static_cast<std::uint32_t>(value);
      break;
    case 8:
      *reinterpret_cast<volatile std::uint64_t*>(at) = static_cast<std::uint64_t>(value);
      break;
    default: std::memcpy(reinterpret_cast<void*>(at), &value, sizeof value);
  }
}

// Another process may change it at the same moment, in memory that they share: so the exchange is
// the host's own. Where the word is not as expected, `expected` is what was found.
template <class Value>
bool replace(address at, word& expected, word desired) {
  auto found = static_cast<Value>(expected);
  const bool replaced = __atomic_compare_exchange_n(reinterpret_cast<volatile Value*>(at), &found,
                                                    static_cast<Value>(desired), false,
                                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  // [H]
  if (!replaced) expected = found;
  return replaced;
}

bool replace(address at, unsigned bytes, word& expected, word desired) {
  switch (bytes) {
    case 1: return replace<std::uint8_t>(at, expected, desired);
    case 2: return replace<std::uint16_t>(at, expected, desired);
    case 4: return replace<std::uint32_t>(at, expected, desired);
    case 8: return replace<std::uint64_t>(at, expected, desired);
    default: break;  // no host has it for all of these
  }
  const word found = read(at, bytes);
  if (found == expected) write(at, bytes, desired);
  else expected = found;
  return found == expected;
}

word apply(operation what, word old, word operand) {
  switch (what) {
    case operation::exchange: return operand;
    case operation::add: return old + operand;
    case operation::sub: return old - operand;
    case operation::and_: return old & operand;
    case operation::or_: return old | operand;
    case operation::xor_: return old ^ operand;
    case operation::nand: return ~(old & operand);
  }
  return old;
}

// A read-modify-write's way to the line, up to the moment of the write.
void modify_line(world& w, thread& me, address at, unsigned bytes, place where) {
  w.schedule.settle(me);
  w.schedule.take_turn(me, at, bytes, use::modify);
  ++me.atomics;
  const cycles begun = me.clock;
  charge(w, me, at, bytes, use::modify, where);
  announce_write(w, me, at, bytes, begun);
  w.gather.atomic_write(me, at, true);
}

}  // namespace

void access(address at, std::size_t bytes, kind what, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  if (what == kind::read) {
    w.schedule.settle(me);
    w.polled_loops.before_read(me, at, bytes, where);
    w.schedule.take_turn(me, at, bytes, use::read);
    charge(w, me, at, bytes, use::read, where);
  } else {
    w.schedule.settle(me);
    const cycles begun = me.clock;
    charge(w, me, at, bytes, use::write, where);
    announce_write(w, me, at, bytes, begun);
  }
}

// (A local variable stays in the core: what compilers do with it takes no time.)
void access_expected(address at, std::size_t bytes, kind what, place where) {
  const thread& me = the_world->schedule.running();
  if (at < me.stack_low || at >= me.stack_high) access(at, bytes, what, where);
}
void access_by_call(address, std::size_t, kind, place) {}
void unmapped(address, std::size_t, place) {}
void claim_shared(address, std::size_t) {}
bool runs_again() { return false; }

word load(address at, unsigned bytes, std::memory_order, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  w.schedule.settle(me);
  w.polled_loops.before_read(me, at, bytes, where);
  w.schedule.take_turn(me, at, bytes, use::read);
  ++me.atomics;
  charge(w, me, at, bytes, use::read, where);
  const touching_memory here(me);
  return read(at, bytes);
}

void store(address at, unsigned bytes, word value, std::memory_order order, place where,
           sequences) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  w.schedule.settle(me);
  ++me.atomics;
  const cycles begun = me.clock;
  charge(w, me, at, bytes, use::write, where);
  announce_write(w, me, at, bytes, begun);
  w.gather.atomic_write(me, at, false);
  {
    const touching_memory here(me);
    write(at, bytes, value);
  }
  // It waits for its own completion (x86: XCHG or MFENCE).
  if (order == std::memory_order_seq_cst) me.clock = w.memory.fence(me.processor, me.clock);
}

word modify(address at, unsigned bytes, operation what, word operand, std::memory_order,
            place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  modify_line(w, me, at, bytes, where);
  const touching_memory here(me);
  word old = read(at, bytes);
  while (!replace(at, bytes, old, apply(what, old, operand))) {
  }
  return old;
}

bool compare_exchange(address at, unsigned bytes, word& expected, word desired, std::memory_order,
                      std::memory_order, bool, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  modify_line(w, me, at, bytes, where);
  const touching_memory here(me);
  return replace(at, bytes, expected, desired);
}

void claim_order(address, int, claim, place) {}
void claim_harmless(address, std::size_t, place) {}
void ignore(kind, int) {}
void fence(std::memory_order order, place) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  // Weaker fences only forbid the compiler to reorder (x86).
  if (order != std::memory_order_seq_cst) return;
  w.schedule.settle(me);
  me.clock = w.memory.fence(me.processor, me.clock);
}

void allocated(address at, std::size_t bytes, place where) {
  instrument::note_allocation(at, bytes, where);
  if (watched_sections != nullptr) watched_sections->allocated(at, bytes);
}

void freed(address at, std::size_t, place where) { instrument::note_free(at, where); }

void work(std::uint64_t cycles) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  me.clock += cycles;
  me.slow_down(cycles);
  w.schedule.settle(me);
}

}  // namespace syncopate::engine
