// barrier.h -- what pthread_barrier_* means, whatever stands behind it and whoever watches.
//
// Source        POSIX.1-2024; where that leaves a result open, glibc (tests/posix/test_meaning.c).
// Count         EINVAL for none, and for more than an int counts.
// Waiting       the thread that completes an episode is told so: PTHREAD_BARRIER_SERIAL_THREAD.
// Destruction   may follow at once, by any of the threads: it waits until all have left.
//
// `Barrier` is one as a call sees it; `Watch` is told what happens. Instantiated by the preload
// library (barrier.cpp), by the simulated machine (src/model/front/pthread/algorithm/barrier.cpp),
// and by the explored one (src/model/front/pthread/model/barrier.cpp).
#pragma once

#include <climits>
#include <concepts>

#include <pthread.h>

namespace syncopate::posix {

constexpr bool is_valid_barrier_count(unsigned count) noexcept {
  return count != 0 && count <= INT_MAX;
}

template <class Barrier>
concept barrier = requires(Barrier b) {
  { b.is_destroyed() } -> std::same_as<bool>;
  { b.arrive_and_wait() } -> std::same_as<bool>;  // whether the caller was the last to arrive
  {b.leave()};                                    // touches the barrier no more
  {b.await_departures()};                         // until all that have arrived have left
  {b.mark_destroyed()};
};

// What a watcher may redefine. arrive_and_wait() stands around the barrier's own.
struct nobody_watches_barrier {
  template <class Barrier>
  void uses_destroyed(Barrier&) noexcept {}
  template <class Barrier>
  bool arrive_and_wait(Barrier& b) {
    return b.arrive_and_wait();
  }
  template <class Barrier>
  void about_to_destroy(Barrier&) noexcept {}
};

template <barrier Barrier, class Watch>
[[gnu::always_inline]] inline int wait_barrier(Barrier b, Watch w) {
  if (b.is_destroyed()) w.uses_destroyed(b);
  const bool last = w.arrive_and_wait(b);
  b.leave();
  return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

template <barrier Barrier, class Watch>
[[gnu::always_inline]] inline int destroy_barrier(Barrier b, Watch w) {
  if (b.is_destroyed()) w.uses_destroyed(b);
  w.about_to_destroy(b);
  b.await_departures();
  b.mark_destroyed();
  return 0;
}

}  // namespace syncopate::posix
