// condition.h -- what pthread_cond_* means, whatever stands behind it and whoever watches.
//
// Source        POSIX.1-2024; where that leaves a result open, glibc (tests/posix/test_meaning.c).
// Order         A wait stands in line before it releases the mutex: who changes the condition under
//               the mutex afterwards, and signals, finds it. It takes the mutex again whatever has
//               ended it, a time-out and a cancellation included.
// Mutex         The wait is as never begun where the mutex cannot be unlocked (EPERM). What the
//               mutex says when it is taken again, the caller gets.
// Signals       A wait that is canceled takes no signal with it that another could use; one that
//               was signaled before its time was up says so.
// Times         looked at before anything else (times.h); a limit that comes here is valid. Its
//               clock is the condition variable's, unless the call names one.
//
// `Condition` is a condition variable as a call sees it, `Wait` is that with a mutex and a place in
// line; `Watch` is told what happens. Instantiated by the preload library (condition.cpp), which
// the emulated machine has in it, by the simulated machine
// (src/model/front/pthread/algorithm/condition.cpp), and by the explored one
// (src/model/front/pthread/model/condition.cpp). All functions return pthread's errno values.
#pragma once

#include <cerrno>
#include <concepts>

#include <pthread.h>

#include "posix/times.h"

namespace syncopate::posix {

// What glibc's init leaves in __wrefs, and we too.
enum condition_flags : unsigned { shared_condition = 1, monotonic_condition = 2 };
inline clockid_t clock_of(const pthread_cond_t& c) noexcept {
  return (c.__data.__wrefs & monotonic_condition) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

template <class Condition>
concept condition = requires(Condition c) {
  { c.is_destroyed() } -> std::same_as<bool>;
  {c.notify_one()};
  {c.notify_all()};
  {c.drain()};  // until nobody touches it any more
  {c.mark_destroyed()};
  {c.stop_eliding()};
};

// One wait of one thread. Beside these: cancelable(body, left) calls body(), and left() if a
// cancellation leaves that.
template <class Wait>
concept condition_wait = condition<Wait> && requires(Wait c, limit until) {
  {c.enlist()};
  { c.unlock_mutex() } -> std::same_as<int>;
  { c.lock_mutex() } -> std::same_as<int>;
  { c.is_over() } -> std::same_as<bool>;  // signaled, or woken in vain where that may be
  { c.sleep(until) } -> std::same_as<machine::park_result>;  // a cancellation point
  { c.withdraw() } -> std::same_as<bool>;                    // false: it has got a signal
};

// What a watcher may redefine.
struct nobody_watches_condition {
  template <class Condition>
  void uses_destroyed(Condition&) noexcept {}

  // A wait: begins() before it is in line; in_line() with the mutex still held; then ends(), or
  // is_refused() if it has not waited, or breaks_off() if it was canceled.
  template <class Condition>
  void begins(Condition&, limit) noexcept {}
  template <class Condition>
  void in_line(Condition&) noexcept {}
  template <class Condition>
  void is_refused(Condition&) noexcept {}
  template <class Condition>
  void breaks_off(Condition&) noexcept {}
  template <class Condition>
  void ends(Condition&) noexcept {}
  // It may be woken early, and then says whether that was it; if so, the wait goes on.
  limit until(limit given) noexcept { return given; }
  bool was_own_limit() noexcept { return false; }

  template <class Condition>
  void about_to_signal(Condition&) noexcept {}
  template <class Condition>
  void about_to_destroy(Condition&) noexcept {}
  template <class Condition>
  void destroyed(Condition&) noexcept {}
};

namespace detail {

template <condition_wait Wait>
void give_up(Wait& c) {
  if (!c.withdraw()) c.notify_one();
}

template <condition_wait Wait, class Watch>
int sleep(Wait& c, Watch& w, limit until) {
  while (!c.is_over())
    if (c.sleep(w.until(until)) == machine::park_result::timed_out && !w.was_own_limit())
      return c.withdraw() ? ETIMEDOUT : 0;
  return 0;
}

}  // namespace detail

// pthread_cond_wait, and timedwait and clockwait with a limit.
template <condition_wait Wait, class Watch>
[[gnu::always_inline]] inline int wait_condition(Wait& c, Watch& w, limit until) {
  if (c.is_destroyed()) w.uses_destroyed(c);
  w.begins(c, until);
  c.enlist();
  w.in_line(c);
  if (const int error = c.unlock_mutex(); error != 0) {
    detail::give_up(c);
    w.is_refused(c);
    return error;
  }
  // The first half of an elided section has committed; unless another one encloses it, whose lock
  // is kept while waiting.
  c.stop_eliding();
  int result = 0;
  c.cancelable([&c, &w, until, &result] { result = detail::sleep(c, w, until); },
               [&c, &w] {
                 detail::give_up(c);
                 w.breaks_off(c);
                 (void)c.lock_mutex();
               });
  w.ends(c);
  const int error = c.lock_mutex();
  return error != 0 ? error : result;
}

template <condition Condition, class Watch>
int signal_condition(Condition c, Watch w) {
  if (c.is_destroyed()) w.uses_destroyed(c);
  w.about_to_signal(c);
  c.notify_one();
  return 0;
}

template <condition Condition, class Watch>
int broadcast_condition(Condition c, Watch w) {
  if (c.is_destroyed()) w.uses_destroyed(c);
  w.about_to_signal(c);
  c.notify_all();
  return 0;
}

template <condition Condition, class Watch>
int destroy_condition(Condition c, Watch w) {
  if (c.is_destroyed()) w.uses_destroyed(c);
  c.stop_eliding();
  w.about_to_destroy(c);
  c.drain();
  w.destroyed(c);
  c.mark_destroyed();
  return 0;
}

}  // namespace syncopate::posix
