// barrier.cpp -- barriers of a program on a modeled machine: what posix/barrier.h says,
// centralized, waiters sleep on the episode. Instrumented.
//
// After glibc's pthread_barrier: one counter of arrivals, one of departures (destroy waits until
// every thread has left, so that the last to arrive may destroy at once), a futex for the waiters.
//
// Memory order (each tag stands at its site below)
//   [A]  acq_rel RMW that arrives: the last one acquires all others.
//   [E]  release store of the next episode, which hands that on to the waiters' acquire loads.
//   [D]  release RMW that leaves, acquire load by destroy.
//   [G]  relaxed: no thread arrives at a barrier that is being destroyed.
//   [I]  relaxed: the program has to order the initialization before all uses.

#include "posix/barrier.h"

#include <syncopate/machine.h>

#include <climits>

#include "model/front/pthread/algorithm/barrier_object.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

class central_barrier {
 public:
  explicit central_barrier(pthread_barrier_t& b) : object_(barrier_object::of(b)) {}

  static bool is_destroyed() { return false; }
  static void mark_destroyed() {}
  bool arrive_and_wait() {
    const std::uint32_t count = object_.count;
    const std::uint64_t before = object_.state.fetch_add(1, std::memory_order_acq_rel);  // [A]
    const std::uint32_t episode = barrier_object::episode_of(before);
    if (barrier_object::arrived_in(before) + 1 == count) {
      object_.state.store(barrier_object::next_episode(before), std::memory_order_release);  // [E]
      if (count > 1) machine::wake(object_.episode_word(), INT_MAX);
      return true;
    }
    while (barrier_object::episode_of(object_.state.load(std::memory_order_acquire)) ==
           episode)  // [E]
      machine::park(object_.episode_word(), episode);
    return false;
  }
  void leave() { object_.left.fetch_add(1, std::memory_order_release); }  // [D]
  void await_departures() {
    const std::uint32_t calls =
        barrier_object::episode_of(object_.state.load(std::memory_order_relaxed)) *
        object_.count;                                            // [G]
    machine::wait_until(object_.left, std::memory_order_acquire,  // [D]
                        [calls](std::uint32_t left) { return left == calls; });
  }

 private:
  barrier_object& object_;
};

using nobody = posix::nobody_watches_barrier;

}  // namespace

void barrier_init(pthread_barrier_t& b, unsigned count, place /*where*/) {
  barrier_object& o = barrier_object::of(b);
  o.state.store(0, std::memory_order_relaxed);  // [I]
  o.left.store(0, std::memory_order_relaxed);   // [I]
  o.count = count;
}

int barrier_wait(pthread_barrier_t& b, place /*where*/) {
  return posix::wait_barrier(central_barrier(b), nobody());
}

int barrier_destroy(pthread_barrier_t& b, place /*where*/) {
  return posix::destroy_barrier(central_barrier(b), nobody());
}

}  // namespace syncopate::instrument::objects
