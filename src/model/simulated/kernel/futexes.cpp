#include "futexes.h"

#include "model/simulated/world.h"

#include <algorithm>
#include <ctime>

#include "model/front/names/mappings.h"

namespace syncopate::simulated {

namespace {

// Stands for where the kernel's buckets lie: an address that Linux gives no program. (A real one
// would be beyond the 48 bits that the memory system has for addresses.)
constexpr std::uintptr_t kernel_memory = 0x8000'0000'0000;
constexpr unsigned buckets = 256;
constexpr std::uintptr_t bucket_bytes = 64;

// CLOCK_REALTIME starts at 2026-01-01, the others with a machine that has been up for a minute: no
// clock ever shows 0, which some programs take for "not set".
constexpr std::uint64_t realtime_start = 1'767'225'600'000'000'000, boot = 60'000'000'000;

std::uint64_t start_of(int clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI: return realtime_start;
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID: return 0;
    default: return boot;
  }
}

constexpr std::uint64_t per_second = 1'000'000'000;

}  // namespace

std::uint64_t nanoseconds_of(const description& machine, cycles at, int clock) {
  const auto wide = static_cast<unsigned __int128>(at);
  return start_of(clock) +
         static_cast<std::uint64_t>(wide * per_second / machine.topology.frequency_hz);
}

cycles cycles_until(const description& machine, const machine::deadline& until) {
  const __int128 left = static_cast<__int128>(until.at.tv_sec) * per_second + until.at.tv_nsec -
                        start_of(until.clock);
  if (left <= 0) return 0;
  const __int128 result = (left * machine.topology.frequency_hz + per_second - 1) / per_second;
  constexpr __int128 never = INT64_MAX;
  return static_cast<cycles>(result < never ? result : never);
}

void futexes::enter_kernel(thread& me) {
  world_.schedule.set_activity(me, activity::kernel);
  ++me.counted.system_calls;
  me.clock += way_in();
  world_.schedule.settle(me);
}

void futexes::leave_kernel(thread& me) {
  me.clock += world_.machine.os.syscall_cycles - way_in();
  world_.schedule.set_activity(me, activity::running);
}

// The kernel looks at the word in the middle of a call: half of its time comes before.
cycles futexes::way_in() const { return world_.machine.os.syscall_cycles / 2; }

void futexes::take_bucket(thread& me, engine::address at) {
  const std::uintptr_t bucket =
      kernel_memory + (at >> 2 ^ at >> 10 ^ at >> 20) % buckets * bucket_bytes;
  world_.schedule.take_turn(me, bucket, 4, use::modify);
  me.clock = world_.memory.access(me.processor, bucket, 4, use::modify, me.clock);
  world_.schedule.settle(me);
}

machine::park_result futexes::park(thread& me, engine::address at, std::uint32_t expected,
                                   const machine::deadline* until, std::uint32_t bitset,
                                   engine::place where) {
  enter_kernel(me);
  take_bucket(me, at);
  world_.schedule.take_turn(me, at, 4, use::read);
  const cycles begun = me.clock;
  me.clock = world_.memory.access(me.processor, at, 4, use::read, me.clock);
  world_.gather.accessed(me, begun);
  if (read_word(at, 4) != expected) {
    leave_kernel(me);
    return machine::park_result::value_changed;
  }
  cycles deadline = 0;
  if (until != nullptr) {
    deadline = cycles_until(world_.machine, *until);
    if (deadline <= me.clock) {
      leave_kernel(me);
      return machine::park_result::timed_out;
    }
  }
  if (me.signaled) {
    leave_kernel(me);
    return machine::park_result::interrupted;
  }
  me.waits_at = where;
  me.wait_began = begun;
  me.clock += world_.machine.os.futex_wait_cycles;
  me.park = {at, bitset, expected, me.clock, machine::park_result::woken};
  auto& queue = queues_[at];
  queue.push_back(&me);
  ++me.counted.parks;
  world_.gather.park_began(me, queue.size());
  if (until != nullptr) world_.schedule.set_timer(me, deadline);
  world_.schedule.leave_processor(me, phase::parked, activity::parked);
  world_.schedule.cancel_timer(me);
  world_.gather.park_ended(me);
  me.clock += world_.machine.os.syscall_cycles - way_in();
  return me.park.result;
}

int futexes::wake_in_kernel(thread& me, engine::address at, int count, std::uint32_t bitset) {
  const auto found = queues_.find(at);
  if (found == queues_.end()) return 0;
  auto& queue = found->second;
  int woken = 0;
  for (auto next = queue.begin(); next != queue.end() && woken < count;) {
    thread& sleeper = **next;
    if ((sleeper.park.bitset & bitset) == 0) {
      ++next;
      continue;
    }
    next = queue.erase(next);
    ++woken;
    me.clock += world_.machine.os.futex_wake_cycles;
    ++me.counted.wakes;
    world_.schedule.cancel_timer(sleeper);
    world_.schedule.make_ready(sleeper, std::max(me.clock, sleeper.park.asleep_from));
  }
  if (queue.empty()) queues_.erase(found);
  return woken;
}

int futexes::wake(thread& me, engine::address at, int count, std::uint32_t bitset) {
  enter_kernel(me);
  take_bucket(me, at);
  const int woken = wake_in_kernel(me, at, count, bitset);
  leave_kernel(me);
  return woken;
}

int futexes::requeue(thread& me, engine::address from, engine::address to, int count, int limit) {
  enter_kernel(me);
  take_bucket(me, from);
  take_bucket(me, to);
  const int woken = wake_in_kernel(me, from, count, ~0u);
  int moved = 0;
  if (from != to) {
    auto& target = queues_[to];
    auto& source = queues_[from];
    for (; moved < limit && !source.empty(); ++moved) {
      source.front()->park.at = to;
      target.push_back(source.front());
      source.pop_front();
    }
    if (source.empty()) queues_.erase(from);
    if (target.empty()) queues_.erase(to);
  }
  leave_kernel(me);
  return woken + moved;
}

void futexes::give_up(thread& t, machine::park_result why) {
  const auto found = queues_.find(t.park.at);
  found->second.erase(std::find(found->second.begin(), found->second.end(), &t));
  if (found->second.empty()) queues_.erase(found);
  t.park.result = why;
}

void futexes::wake_changed(cycles at) {
  for (thread& t : world_.schedule.threads()) {
    if (t.state != phase::parked || read_word(t.park.at, 4) == t.park.expected) continue;
    if (instrument::sharing_of(t.park.at) == instrument::sharing::none) continue;
    give_up(t, machine::park_result::woken);
    world_.schedule.cancel_timer(t);
    world_.schedule.make_ready(t, std::max(at, t.park.asleep_from));
  }
}

void futexes::sleep_until(thread& me, const machine::deadline& until, engine::place where) {
  enter_kernel(me);
  const cycles deadline = cycles_until(world_.machine, until);
  me.waits_at = where;
  if (deadline > me.clock && !me.signaled) {
    world_.schedule.set_timer(me, deadline);
    world_.schedule.leave_processor(me, phase::sleeping, activity::sleeping);
    world_.schedule.cancel_timer(me);
  }
  leave_kernel(me);
}

}  // namespace syncopate::simulated
