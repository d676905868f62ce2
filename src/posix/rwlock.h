// rwlock.h -- what pthread_rwlock_* means, whatever lock stands behind it and whoever watches.
//
// Source        POSIX.1-2024; where that leaves a result open, glibc (tests/posix/test_meaning.c).
// Holders       EDEADLK for the writer who would wait for itself. That a reader does, as a writer,
//               nobody knows: readers are counted, not noted.
// Readers       EAGAIN where one more cannot be counted, from a trylock too.
// Times         looked at before anything else (times.h); a limit that comes here is valid.
//
// `Lock` and `Watch` are as for mutexes (mutex.h). Instantiated by the preload library
// (rwlock.cpp), which the emulated machine has in it, by the simulated machine
// (src/model/front/pthread/algorithm/rwlock.cpp), and by the explored one, with a lock of one step
// (src/model/front/pthread/model/rwlock.cpp). All functions return pthread's errno values.
#pragma once

#include <cerrno>
#include <concepts>

#include "posix/times.h"

namespace syncopate::posix {

enum class side { read, write };

// Elision as for mutexes; each side of a lock is a section of its own.
template <class Lock>
concept rwlock = requires(Lock l, side which, limit until) {
  // Whether acquire() is preceded by begin_acquire(which, until), as where that is the fast way:
  // its first step, which returns whether the lock was free and is now held.
  { Lock::tries_first } -> std::convertible_to<bool>;
  { l.is_destroyed() } -> std::same_as<bool>;
  { l.writes() } -> std::same_as<bool>;  // the calling thread
  { l.reads() } -> std::same_as<bool>;   // likewise; asked only where Watch::asks_for_holder
  { l.is_full_of_readers() } -> std::same_as<bool>;
  { l.try_acquire(which) } -> std::same_as<bool>;
  { l.acquire(which, until) } -> std::same_as<bool>;  // false: the limit has passed
  // Whether acquire() has returned only to run ahead of the lock (wait/speculate.h).
  { l.runs_ahead() } -> std::same_as<bool>;
  {l.note_holder(which)};    // behind an acquisition
  {l.forget_holder(which)};  // before release()
  {l.release(which)};
  { l.is_in_use() } -> std::same_as<bool>;  // for watchers: destruction does not ask
  {l.mark_destroyed()};
  { l.enters_elided(which, until) } -> std::same_as<bool>;
  { l.refuses_elided_try(which) } -> std::same_as<bool>;
  { l.enters_elided_try(which) } -> std::same_as<bool>;
  { l.leaves_elided() } -> std::same_as<bool>;
  {l.stop_eliding()};
};

struct not_elided_rwlock {
  static bool enters_elided(side, limit) noexcept { return false; }
  static bool refuses_elided_try(side) noexcept { return false; }
  static bool enters_elided_try(side) noexcept { return false; }
  static bool leaves_elided() noexcept { return false; }
  static void stop_eliding() noexcept {}
  static bool runs_ahead() noexcept { return false; }
};

// What a watcher may redefine. acquire() and release() stand around the lock's own.
struct nobody_watches_rwlock {
  static constexpr bool asks_for_holder = false;  // whether unlocks_foreign() is to be called

  template <class Lock>
  void unlocks_foreign(Lock&) noexcept {}  // what the thread neither reads nor writes
  template <class Lock>
  void uses_destroyed(Lock&) noexcept {}
  template <class Lock>
  void about_to_lock(Lock&) noexcept {}
  template <class Lock>
  bool acquire(Lock& l, side which, limit until) {
    return l.acquire(which, until);
  }
  template <class Lock>
  void tried(Lock&, bool /*taken*/) noexcept {}
  template <class Lock>
  void entered(Lock&, side) noexcept {}
  template <class Lock>
  void release(Lock& l, side which) {
    l.release(which);
  }
  template <class Lock>
  void about_to_destroy(Lock&) noexcept {}
  template <class Lock>
  void destroyed(Lock&) noexcept {}
};

namespace detail {
template <class Lock>
[[gnu::always_inline]] inline bool has_begun(Lock& l, side which, limit until) {
  if constexpr (Lock::tries_first) return l.begin_acquire(which, until);
  return false;
}
}  // namespace detail

// Inline, so that `l` is no object in memory: its fields would be stored and loaded for each call.

// pthread_rwlock_rdlock and wrlock, and the timed ones with a limit.
template <rwlock Lock, class Watch>
[[gnu::always_inline]] inline int lock_rwlock(Lock l, Watch w, side which, limit until) {
  if (l.is_destroyed()) w.uses_destroyed(l);
  if (l.enters_elided(which, until)) return 0;
  w.about_to_lock(l);
  if (!detail::has_begun(l, which, until)) {
    if (l.writes()) return EDEADLK;
    if (which == side::read && l.is_full_of_readers()) return EAGAIN;
    if (!w.acquire(l, which, until)) return ETIMEDOUT;
    if (l.runs_ahead()) return 0;
  }
  l.note_holder(which);
  w.entered(l, which);
  return 0;
}

template <rwlock Lock, class Watch>
[[gnu::always_inline]] inline int try_lock_rwlock(Lock l, Watch w, side which) {
  if (l.is_destroyed()) w.uses_destroyed(l);
  if (l.refuses_elided_try(which)) return EBUSY;
  if (l.enters_elided_try(which)) return 0;
  const bool taken = l.try_acquire(which);
  w.tried(l, taken);
  if (!taken) return which == side::read && l.is_full_of_readers() ? EAGAIN : EBUSY;
  l.note_holder(which);
  w.entered(l, which);
  return 0;
}

template <rwlock Lock, class Watch>
[[gnu::always_inline]] inline int unlock_rwlock(Lock l, Watch w) {
  if (l.is_destroyed()) w.uses_destroyed(l);
  if (l.leaves_elided()) return 0;
  const side which = l.writes() ? side::write : side::read;
  if constexpr (Watch::asks_for_holder)
    if (which == side::read && !l.reads()) w.unlocks_foreign(l);
  l.forget_holder(which);
  w.release(l, which);
  return 0;
}

template <rwlock Lock, class Watch>
[[gnu::always_inline]] inline int destroy_rwlock(Lock l, Watch w) {
  if (l.is_destroyed()) w.uses_destroyed(l);
  l.stop_eliding();
  w.about_to_destroy(l);
  w.destroyed(l);
  l.mark_destroyed();
  return 0;
}

}  // namespace syncopate::posix
