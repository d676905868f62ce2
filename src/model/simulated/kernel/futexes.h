// futexes.h -- threads asleep in the simulated kernel, by address: the futex system call.
//
// Queues are FIFO. The comparison and the enqueueing are one step, made with the bucket held; the
// bucket is a cache line of the kernel's (at an address no program has), so that callers of the
// same address get in each other's way.
#pragma once

#include "model/simulated/memory/memory.h"
#include "thread.h"

#include <syncopate/machine/types.h>

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "model/front/engine.h"

namespace syncopate::simulated {

struct world;

class futexes {
 public:
  explicit futexes(world& w) : world_(w) {}

  // By the running thread.
  machine::park_result park(thread& me, engine::address, std::uint32_t expected,
                            const machine::deadline*, std::uint32_t bitset, engine::place where);
  int wake(thread& me, engine::address, int count, std::uint32_t bitset);
  int requeue(thread& me, engine::address from, engine::address to, int count, int limit);
  void sleep_until(thread& me, const machine::deadline&, engine::place where);

  // The parked thread's time is up, or a signal has come for it.
  void give_up(thread&, machine::park_result = machine::park_result::timed_out);
  // Another process may have changed words, and woken its own threads only.
  void wake_changed(cycles at);

 private:
  void enter_kernel(thread& me);
  void leave_kernel(thread& me);
  cycles way_in() const;
  void take_bucket(thread& me, engine::address);
  int wake_in_kernel(thread& me, engine::address, int count, std::uint32_t bitset);

  world& world_;
  std::unordered_map<engine::address, std::deque<thread*>> queues_;  // never iterated
};

// The clocks of the simulated machine. Simulated time starts with the program.
std::uint64_t nanoseconds_of(const description&, cycles at, int clock);
// The first cycle at or after the time; 0 at the least.
cycles cycles_until(const description&, const machine::deadline&);

}  // namespace syncopate::simulated
