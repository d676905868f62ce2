// engine_waits.cpp -- engine.h's waiting, time and place, on the simulated machine.
#include "model/simulated/world.h"

#include <algorithm>
#include <ctime>

#include "model/front/engine.h"

namespace syncopate::engine {

using namespace simulated;

namespace {

// What the processor cannot do inside a transaction ends it.
void leave_transaction(world& w, thread& me, place where) {
  if (me.in_transaction) w.htm.abort(me, {abort_cause::unfriendly, 0, where});
}

// What a thread has used of processors so far.
cycles processor_time(const thread& t, cycles now) {
  if (t.foreign) return 0;
  cycles used = 0;
  for (const activity a :
       {activity::running, activity::spinning, activity::light, activity::deep, activity::kernel}) {
    used += t.counted.cycles[static_cast<std::size_t>(a)];
    if (t.doing == a && now > t.since) used += now - t.since;
  }
  return used;
}

std::uint64_t first_look(world& w, thread& me, address at, unsigned bytes, place where) {
  w.schedule.settle(me);
  w.schedule.take_turn(me, at, bytes, use::read);
  if (w.htm.any()) w.htm.at_place(where);
  ++me.accesses;
  ++me.atomics;
  const cycles begun = me.clock;
  me.clock = w.memory.access(me.processor, at, bytes, use::read, begun);
  w.gather.accessed(me, begun);
  me.clock += w.machine.core.access_cycles;
  if (me.in_transaction) w.htm.accessed(me, at, bytes, use::read);
  const touching_memory here(me);
  return read_word(at, bytes);
}

}  // namespace

void relax(std::uint32_t steps, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  // As Intel's PAUSE does.
  leave_transaction(w, me, where);
  const cycles spent = me.vary(cycles{steps} * w.machine.core.relax_cycles);
  me.clock += spent;
  me.relaxed += spent;
  w.schedule.settle(me);
}

void system_call(bool tcp, place where) {
  if (the_world == nullptr || !the_world->schedule.has_running()) return;
  world& w = *the_world;
  thread& me = w.schedule.caller();
  leave_transaction(w, me, where);
  w.polled_loops.interrupted(me);
  w.schedule.set_activity(me, activity::kernel);
  ++me.counted.system_calls;
  me.clock += w.machine.os.syscall_cycles;
  if (tcp) me.clock += w.machine.os.tcp_cycles;
  w.schedule.settle(me);
  w.schedule.set_activity(me, activity::running);
}

void yield(place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  leave_transaction(w, me, where);
  w.schedule.set_activity(me, activity::kernel);
  ++me.counted.system_calls;
  me.clock += w.machine.os.syscall_cycles;
  w.schedule.settle(me);
  w.schedule.set_activity(me, activity::running);
  w.schedule.yield(me);
}

bool await(address at, unsigned bytes, std::memory_order, int depth, predicate holds, void* context,
           std::uint64_t until, std::uint64_t& value, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  me.loop = {};
  value = first_look(w, me, at, bytes, where);
  if (holds(context, value)) return true;
  if (until != 0 && me.clock >= until) return false;
  leave_transaction(w, me, where);
  me.poll = {
      .at = at,
      .bytes = bytes,
      .depth = depth,
      .holds = holds,
      .context = context,
      .seen = value,
      .until = until,
      .period = w.machine.l1.latency + w.machine.core.access_cycles + w.machine.core.relax_cycles};
  const poll_state asked = me.poll;
  w.watching.wait(me, where);
  // Signals are taken in the middle of the wait.
  while (me.signaled && !me.poll.satisfied && (until == 0 || me.clock < until)) {
    w.schedule.take_signals(me);
    me.poll = asked;
    w.watching.wait(me, where);
  }
  value = me.poll.seen;
  return me.poll.satisfied;
}

machine::park_result park(address at, std::uint32_t expected, const machine::deadline* until,
                          std::uint32_t bitset, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  leave_transaction(w, me, where);
  w.polled_loops.interrupted(me);
  return w.kernel.park(me, at, expected, until, bitset, where);
}

int wake(address at, int count, std::uint32_t bitset, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  leave_transaction(w, me, where);
  return w.kernel.wake(me, at, count, bitset);
}

int requeue(address from, address to, int count, int limit, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  leave_transaction(w, me, where);
  return w.kernel.requeue(me, from, to, count, limit);
}

void sleep_until(const machine::deadline& until, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  leave_transaction(w, me, where);
  w.polled_loops.interrupted(me);
  w.kernel.sleep_until(me, until, where);
}

std::uint64_t ticks() {
  if (the_world == nullptr || !the_world->schedule.has_running()) {
    const description& machine = the_machine();
    return clock_outside += machine.l1.latency + machine.core.access_cycles;
  }
  world& w = *the_world;
  thread& me = w.schedule.caller();
  // Reading the clock takes about as long as a hit does; time passes for loops on it.
  me.clock += w.machine.l1.latency + w.machine.core.access_cycles;
  w.schedule.settle(me);
  w.polled_loops.interrupted(me);
  return me.clock;
}

std::uint64_t ticks_per_second() { return the_machine().topology.frequency_hz; }

std::uint64_t nanoseconds(int clock) {
  const cycles at = ticks();
  const bool is_processors = clock == CLOCK_THREAD_CPUTIME_ID || clock == CLOCK_PROCESS_CPUTIME_ID;
  if (!is_processors || the_world == nullptr || !the_world->schedule.has_running())
    return nanoseconds_of(the_machine(), at, clock);
  cycles used = 0;
  for (const thread& each : the_world->schedule.threads())
    if (&each == &the_world->schedule.running() || clock == CLOCK_PROCESS_CPUTIME_ID)
      used += processor_time(each, at);
  return nanoseconds_of(the_machine(), used, clock);
}

unsigned processor() {
  if (the_world == nullptr || !the_world->schedule.has_running()) return 0;
  return the_world->schedule.running().processor;
}

unsigned processors() { return the_machine().processors(); }

unsigned node() { return the_machine().node_of(the_machine().core_of(processor())); }

unsigned nodes() { return the_machine().topology.nodes; }

// ---- hardware transactions --------------------------------------------------------------------

bool htm_usable() { return the_machine().htm.present; }

machine::htm::status htm_begin(machine::htm::mode mode, place where) {
  world& w = *the_world;
  return w.htm.begin(w.schedule.running(), mode, where);
}

void htm_commit(place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  if (me.in_transaction) w.htm.commit(me, where);
}

void htm_abort(unsigned char code, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  w.schedule.settle(me);
  if (me.in_transaction) w.htm.abort(me, {abort_cause::explicit_, code, where});
}

bool htm_active() {
  return the_world != nullptr && the_world->schedule.has_running() &&
         the_world->schedule.running().in_transaction;
}

void htm_unfriendly(place where) {
  world& w = *the_world;
  leave_transaction(w, w.schedule.running(), where);
}
void htm_fell_back(place) {}
void leaves(address, place) {}
bool may_fork() {
  the_world->schedule.forks();
  return true;
}

bool has_signals() { return true; }
void interrupt(unsigned index) {
  auto& threads = the_world->schedule.threads();
  if (index < threads.size()) the_world->schedule.interrupt(threads[index]);
}
void set_alarm(std::uint64_t at) {
  constexpr std::uint64_t second = 1'000'000'000;
  world& w = *the_world;
  const machine::deadline until{{static_cast<time_t>(at / second), static_cast<long>(at % second)},
                                CLOCK_MONOTONIC};
  w.schedule.set_alarm(at != 0 ? std::max<cycles>(1, cycles_until(w.machine, until)) : 0);
}
void look_outside() { scheduler::look_outside(); }

}  // namespace syncopate::engine
