// semaphore.h -- what sem_* means, whatever semaphore stands behind it and whoever watches.
//
// Source        POSIX.1-2024; where that leaves a result open, glibc (tests/posix/test_meaning.c).
// Cancellation  A wait acts on a request also where there is a token: POSIX calls it a point at
//               which that shall occur. The token is left then.
// Value         at most most_tokens: EINVAL for a first one above, EOVERFLOW for a post at it.
// Times         looked at before anything else, cancellation included (times.h); a limit that comes
//               here is valid.
//
// `Semaphore` is one as a call sees it; `Watch` is told what happens. Instantiated by the preload
// library while it records (semaphore.cpp; else, as on the emulated machine, a call is the C
// library's), by the simulated machine (src/model/front/pthread/algorithm/semaphore.cpp), and by
// the explored one (src/model/front/pthread/model/semaphore.cpp). All functions return 0 or the
// errno value that the call has to set.
#pragma once

#include <cerrno>
#include <concepts>

#include "posix/times.h"

namespace syncopate::posix {

constexpr unsigned most_tokens = 0x7fff'ffff;  // SEM_VALUE_MAX
constexpr bool is_valid_value(unsigned value) noexcept { return value <= most_tokens; }

template <class Semaphore>
concept semaphore = requires(Semaphore s, limit until) {
  // Whether take() is preceded by one try_take(), as where that is the fast way.
  { Semaphore::tries_first } -> std::convertible_to<bool>;
  {s.test_cancel()};
  { s.is_destroyed() } -> std::same_as<bool>;
  { s.try_take() } -> std::same_as<bool>;
  { s.take(until) } -> std::same_as<int>;  // 0, ETIMEDOUT, EINTR; a cancellation point
  { s.add() } -> std::same_as<bool>;       // false: it was full
  {s.mark_destroyed()};
};

// What a watcher may redefine. take() and add() stand around the semaphore's own.
struct nobody_watches_semaphore {
  template <class Semaphore>
  void uses_destroyed(Semaphore&) noexcept {}
  template <class Semaphore>
  int take(Semaphore& s, limit until) {
    return s.take(until);
  }
  template <class Semaphore>
  void tried(Semaphore&, bool /*taken*/) noexcept {}
  template <class Semaphore>
  void taken(Semaphore&) noexcept {}
  template <class Semaphore>
  bool add(Semaphore& s) {
    return s.add();
  }
  template <class Semaphore>
  void destroyed(Semaphore&) noexcept {}
};

// sem_wait, and timedwait and clockwait with a limit.
template <semaphore Semaphore, class Watch>
[[gnu::always_inline]] inline int wait_semaphore(Semaphore s, Watch w, limit until) {
  s.test_cancel();
  if (s.is_destroyed()) w.uses_destroyed(s);
  if (!Semaphore::tries_first || !s.try_take())
    if (const int error = w.take(s, until); error != 0) return error;
  w.taken(s);
  return 0;
}

template <semaphore Semaphore, class Watch>
[[gnu::always_inline]] inline int try_wait_semaphore(Semaphore s, Watch w) {
  if (s.is_destroyed()) w.uses_destroyed(s);
  const bool taken = s.try_take();
  w.tried(s, taken);
  if (!taken) return EAGAIN;
  w.taken(s);
  return 0;
}

template <semaphore Semaphore, class Watch>
[[gnu::always_inline]] inline int post_semaphore(Semaphore s, Watch w) {
  if (s.is_destroyed()) w.uses_destroyed(s);
  return w.add(s) ? 0 : EOVERFLOW;
}

template <semaphore Semaphore, class Watch>
[[gnu::always_inline]] inline int destroy_semaphore(Semaphore s, Watch w) {
  if (s.is_destroyed()) w.uses_destroyed(s);
  w.destroyed(s);
  s.mark_destroyed();
  return 0;
}

}  // namespace syncopate::posix
