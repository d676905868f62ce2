// barrier.cpp -- barriers, centralized, waiters sleep on the episode. Instrumented.
//
// After glibc's pthread_barrier: one counter of arrivals, one of departures (destroy waits until
// every thread has left, so that the last to arrive may destroy at once), a futex for the waiters.
//
// Memory order
//   arrival is acq_rel: the last one acquires all others, and its release of the episode hands that
//   on to the waiters' acquire loads. Departure is release, destroy's loads acquire.

#include <syncopate/machine.h>

#include <climits>

#include "model/front/pthread/barrier_object.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {

void barrier_init(pthread_barrier_t& b, unsigned count, place /*where*/) {
  barrier_object& o = barrier_object::of(b);
  o.state.store(0, std::memory_order_relaxed);
  o.left.store(0, std::memory_order_relaxed);
  o.count = count;
}

int barrier_wait(pthread_barrier_t& b, place /*where*/) {
  barrier_object& o = barrier_object::of(b);
  const std::uint32_t count = o.count;
  const std::uint64_t before = o.state.fetch_add(1, std::memory_order_acq_rel);
  const std::uint32_t episode = barrier_object::episode_of(before);
  int result = 0;
  if (barrier_object::arrived_in(before) + 1 == count) {
    o.state.store((before & ~std::uint64_t{UINT32_MAX}) + barrier_object::one_episode,
                  std::memory_order_release);
    if (count > 1) machine::wake(o.episode_word(), INT_MAX);
    result = PTHREAD_BARRIER_SERIAL_THREAD;
  } else {
    while (barrier_object::episode_of(o.state.load(std::memory_order_acquire)) == episode)
      machine::park(o.episode_word(), episode);
  }
  o.left.fetch_add(1, std::memory_order_release);
  return result;
}

int barrier_destroy(pthread_barrier_t& b, place /*where*/) {
  barrier_object& o = barrier_object::of(b);
  const std::uint32_t calls =
      barrier_object::episode_of(o.state.load(std::memory_order_relaxed)) * o.count;
  machine::wait_until(o.left, std::memory_order_acquire,
                      [calls](std::uint32_t left) { return left == calls; });
  return 0;
}

}  // namespace syncopate::instrument::objects
