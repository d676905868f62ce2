// spin.h -- what pthread_spin_* means, whatever lock stands behind it and whoever watches.
//
// Source        POSIX.1-2024; where that leaves a result open, glibc (tests/posix/test_meaning.c).
// Holders       nobody looks: who locks what it holds spins for ever. Others may unlock, as with
//               glibc; POSIX leaves that undefined.
//
// `Lock` and `Watch` are as for mutexes (mutex.h). Instantiated by the preload library
// (spinlock.cpp), by the simulated machine (src/model/front/pthread/algorithm/spin.cpp), and by the
// explored one (src/model/front/pthread/model/spin.cpp).
#pragma once

#include <cerrno>
#include <concepts>

namespace syncopate::posix {

// The values of glibc's word on x86: whoever initialized it, and whoever unlocks it, agree.
enum spin_word : int { spin_held = 0, spin_free = 1 };

template <class Lock>
concept spin_lock = requires(Lock l) {
  // Whether acquire() is preceded by one try_acquire(), as where that is the fast way.
  { Lock::tries_first } -> std::convertible_to<bool>;
  { l.is_held_by_caller() } -> std::same_as<bool>;  // asked only where Watch::asks_for_holder
  { l.try_acquire() } -> std::same_as<bool>;
  {l.acquire()};
  {l.release()};
  {l.mark_destroyed()};
};

// What a watcher may redefine. acquire() and release() stand around the lock's own.
struct nobody_watches_spin {
  static constexpr bool asks_for_holder = false;  // whether unlocks_foreign() is to be called

  template <class Lock>
  void unlocks_foreign(Lock&) noexcept {}
  template <class Lock>
  void about_to_lock(Lock&) noexcept {}
  template <class Lock>
  void acquire(Lock& l) {
    l.acquire();
  }
  template <class Lock>
  void tried(Lock&, bool /*taken*/) noexcept {}
  template <class Lock>
  void entered(Lock&) noexcept {}
  template <class Lock>
  void release(Lock& l) {
    l.release();
  }
  template <class Lock>
  void about_to_destroy(Lock&) noexcept {}
};

template <spin_lock Lock, class Watch>
[[gnu::always_inline]] inline int lock_spin(Lock l, Watch w) {
  w.about_to_lock(l);
  if (!Lock::tries_first || !l.try_acquire()) w.acquire(l);
  w.entered(l);
  return 0;
}

template <spin_lock Lock, class Watch>
[[gnu::always_inline]] inline int try_lock_spin(Lock l, Watch w) {
  const bool taken = l.try_acquire();
  w.tried(l, taken);
  if (!taken) return EBUSY;
  w.entered(l);
  return 0;
}

template <spin_lock Lock, class Watch>
[[gnu::always_inline]] inline int unlock_spin(Lock l, Watch w) {
  if constexpr (Watch::asks_for_holder)
    if (!l.is_held_by_caller()) w.unlocks_foreign(l);
  w.release(l);
  return 0;
}

template <spin_lock Lock, class Watch>
[[gnu::always_inline]] inline int destroy_spin(Lock l, Watch w) {
  w.about_to_destroy(l);
  l.mark_destroyed();
  return 0;
}

}  // namespace syncopate::posix
