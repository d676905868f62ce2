// mutex.h -- what pthread_mutex_* means, whatever lock stands behind the mutex and whoever watches.
//
// Source        POSIX.1-2024 and glibc's manual; where POSIX leaves a result open, glibc's
//               (tests/posix/test_meaning.c has the whole table: kind x state x call -> result).
// Kinds         normal and adaptive: no question about the holder is asked. errorcheck: EDEADLK for
//               the holder, EPERM for others' unlock. recursive: counted, EAGAIN where the count is
//               full, EPERM for others' unlock.
// Times         an invalid one matters only where the call would block (EINVAL).
//
// `Lock` is one mutex as a call sees it: made for the call, cheap to copy. `Watch` is told what
// happens and may report it; nobody_watches is told nothing and costs nothing. Instantiated by the
// preload library (products/preload/mutex/mutex.cpp), which the emulated machine has in it, by the
// simulated machine (src/model/front/pthread/algorithm/mutex.cpp), and by the explored one, with a
// lock of one step (src/model/front/pthread/model/mutex.cpp). All functions return pthread's errno
// values.
#pragma once

#include <syncopate/machine/types.h>

#include <cerrno>
#include <concepts>
#include <cstdint>

#include <pthread.h>

#include "posix/times.h"

namespace syncopate::posix {

constexpr int destroyed_mutex = -1;  // the kind of a destroyed mutex, as in glibc

// Of a mutex's kind, as glibc keeps it: what it says beside the type is left out.
constexpr bool is_recursive(int kind) noexcept { return (kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP; }
constexpr bool is_errorcheck(int kind) noexcept {
  return (kind & 3) == PTHREAD_MUTEX_ERRORCHECK_NP;
}

// holder() and self() name threads, 0 nobody; depth() is the holder's own. Elision: a section that
// enters_elided() holds nothing, and is left by leaves_elided(). not_elided_lock has none, and
// waiters that do not run ahead.
template <class Lock>
concept mutex_lock = requires(Lock l, limit until, int kind) {
  { l.kind() } -> std::same_as<int>;
  { l.holder() } -> std::same_as<int>;
  { l.self() } -> std::same_as<int>;
  { l.depth() } -> std::same_as<std::uint32_t&>;
  { l.try_acquire() } -> std::same_as<bool>;
  { l.acquire(until) } -> std::same_as<bool>;  // false: the limit, a valid one, has passed
  // Whether acquire() has returned only to run ahead of the lock (wait/speculate.h).
  { l.runs_ahead() } -> std::same_as<bool>;
  {l.note_holder(kind)};  // behind an acquisition
  // Before release(). False: there is nothing to release, since nobody holds the mutex (glibc
  // tolerates that and programs do it) or what was held has been put right already.
  { l.forget_holder(kind) } -> std::same_as<bool>;
  {l.release()};
  { l.is_in_use() } -> std::same_as<bool>;  // too much for a destroy
  {l.mark_destroyed()};
  { l.enters_elided(until) } -> std::same_as<bool>;
  { l.refuses_elided_try() } -> std::same_as<bool>;  // held: a trylock must not wait for that
  { l.enters_elided_try() } -> std::same_as<bool>;
  { l.leaves_elided() } -> std::same_as<bool>;
  {l.stop_eliding()};
};

struct not_elided_lock {
  static bool enters_elided(limit) noexcept { return false; }
  static bool refuses_elided_try() noexcept { return false; }
  static bool enters_elided_try() noexcept { return false; }
  static bool leaves_elided() noexcept { return false; }
  static void stop_eliding() noexcept {}
  static bool runs_ahead() noexcept { return false; }
};

// What a watcher may redefine. acquire() and release() stand around the lock's own.
struct nobody_watches {
  // Whether locks_again() and unlocks_foreign() are to be called: for normal mutexes, too, the
  // holder is then looked at.
  static constexpr bool asks_for_holder = false;

  template <class Lock>
  void locks_again(Lock&) noexcept {}  // a normal mutex that the thread holds, without a limit
  template <class Lock>
  void unlocks_foreign(Lock&) noexcept {}  // a normal mutex that the thread does not hold
  template <class Lock>
  void uses_destroyed(Lock&) noexcept {}

  template <class Lock>
  void about_to_lock(Lock&) noexcept {}
  template <class Lock>
  bool acquire(Lock& l, limit until) {
    return l.acquire(until);
  }
  template <class Lock>
  void took_free(Lock&) noexcept {}  // instead of acquire(): the limit is invalid
  template <class Lock>
  void about_to_try(Lock&) noexcept {}
  template <class Lock>
  void tried(Lock&, bool /*taken*/) noexcept {}
  template <class Lock>
  void entered(Lock&) noexcept {}

  template <class Lock>
  void about_to_unlock(Lock&) noexcept {}
  template <class Lock>
  void release(Lock& l) {
    l.release();
  }
  template <class Lock>
  void left(Lock&) noexcept {}

  template <class Lock>
  void about_to_destroy(Lock&) noexcept {}
  template <class Lock>
  void destroyed(Lock&) noexcept {}
};

namespace detail {
// One deeper into a recursive mutex.
template <class Lock>
int relock(Lock& l) {
  if (l.depth() + 1 == 0) return EAGAIN;
  ++l.depth();
  return 0;
}
}  // namespace detail

// Inline, so that `l` is no object in memory: its fields would be stored and loaded for each call.

// pthread_mutex_lock, and timedlock and clocklock with a limit.
template <mutex_lock Lock, class Watch>
[[gnu::always_inline]] inline int lock_mutex(Lock l, Watch w, limit until) {
  const int kind = l.kind();
  if (kind == destroyed_mutex) return w.uses_destroyed(l), EINVAL;
  if (is_recursive(kind) && l.holder() == l.self()) return detail::relock(l);
  if (is_errorcheck(kind) && l.holder() == l.self()) return EDEADLK;
  if constexpr (Watch::asks_for_holder)
    if (until == nullptr && l.holder() == l.self()) w.locks_again(l);
  if (l.enters_elided(until)) return 0;
  w.about_to_lock(l);
  if (until != nullptr && !is_valid(until->at)) {
    if (!l.try_acquire()) return EINVAL;
    w.took_free(l);
  } else if (!w.acquire(l, until)) {
    return ETIMEDOUT;
  } else if (l.runs_ahead()) {
    return 0;
  }
  l.note_holder(kind);
  w.entered(l);
  return 0;
}

template <mutex_lock Lock, class Watch>
[[gnu::always_inline]] inline int try_lock_mutex(Lock l, Watch w) {
  const int kind = l.kind();
  if (kind == destroyed_mutex) return w.uses_destroyed(l), EINVAL;
  if (is_recursive(kind) && l.holder() == l.self()) return detail::relock(l);
  if (l.refuses_elided_try()) return EBUSY;
  if (l.enters_elided_try()) return 0;
  w.about_to_try(l);
  const bool taken = l.try_acquire();
  w.tried(l, taken);
  if (!taken) return EBUSY;
  l.note_holder(kind);
  w.entered(l);
  return 0;
}

template <mutex_lock Lock, class Watch>
[[gnu::always_inline]] inline int unlock_mutex(Lock l, Watch w) {
  const int kind = l.kind();
  if (kind == destroyed_mutex) return w.uses_destroyed(l), EINVAL;
  if (l.leaves_elided()) return 0;
  if (is_recursive(kind) || is_errorcheck(kind)) {
    if (l.holder() != l.self()) return EPERM;
    if (is_recursive(kind) && --l.depth() != 0) return 0;
  } else if constexpr (Watch::asks_for_holder) {
    if (l.holder() != l.self()) w.unlocks_foreign(l);
  }
  w.about_to_unlock(l);
  if (l.forget_holder(kind)) w.release(l);
  w.left(l);
  return 0;
}

template <mutex_lock Lock, class Watch>
[[gnu::always_inline]] inline int destroy_mutex(Lock l, Watch w) {
  l.stop_eliding();
  w.about_to_destroy(l);
  if (l.is_in_use()) return EBUSY;
  w.destroyed(l);
  l.mark_destroyed();  // a use after this is EINVAL, not a hang
  return 0;
}

}  // namespace syncopate::posix
