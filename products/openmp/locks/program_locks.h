// program_locks.h -- the locks and critical sections of programs. Either all are ours or none
// is, whoever calls (caller.h, R1).
//
// Memory order (each tag stands at its site below)
//   [C]  acquire load -- synchronizes with the store when the settings are read (config.cpp).
#pragma once

#include "openmp/config.h"
#include "openmp/locks/locks.h"
#include "openmp/locks/word_lock.h"
#include "openmp/teams/run_ahead.h"

namespace syncopate::openmp {

inline lock_keeper keeper_of_locks() noexcept {
  lock_keeper k = config.keeper.load(std::memory_order_acquire);  // [C]
  if (__builtin_expect(k == lock_keeper::not_read, 0)) {
    ensure_configured();
    k = config.keeper.load(std::memory_order_acquire);  // [C]
  }
  return k;
}

inline bool locks_are_ours() noexcept { return keeper_of_locks() != lock_keeper::runtime; }

// Takes the lock behind a word of the program's, or releases it; false: locks are the runtime's.
// Where threads run ahead, no lock is we_in_word (config.cpp).
inline bool take(void* word) noexcept {
  const lock_keeper k = keeper_of_locks();
  if (__builtin_expect(k == lock_keeper::we_in_word, 1)) return as_word_lock(word).lock(), true;
  if (k == lock_keeper::runtime) return false;
  stop_running_ahead();
  return lock_word(word), true;
}
inline bool release(void* word) noexcept {
  const lock_keeper k = keeper_of_locks();
  if (__builtin_expect(k == lock_keeper::we_in_word, 1)) return as_word_lock(word).unlock(), true;
  if (k == lock_keeper::runtime) return false;
  stop_running_ahead();
  return unlock_word(word), true;
}

// The same for a lock that no word of the program's stands for.
struct alignas(128) whole_lock {
  std::uint64_t object[8];
};
inline bool take_whole(whole_lock& lock) noexcept {
  const lock_keeper k = keeper_of_locks();
  if (__builtin_expect(k == lock_keeper::we_in_word, 1)) return as_word_lock(&lock).lock(), true;
  if (k == lock_keeper::runtime) return false;
  stop_running_ahead();
  return lock_object_at(&lock, &lock), true;
}
inline bool release_whole(whole_lock& lock) noexcept {
  const lock_keeper k = keeper_of_locks();
  if (__builtin_expect(k == lock_keeper::we_in_word, 1)) return as_word_lock(&lock).unlock(), true;
  if (k == lock_keeper::runtime) return false;
  stop_running_ahead();
  return unlock_object_at(&lock, &lock), true;
}

}  // namespace syncopate::openmp
