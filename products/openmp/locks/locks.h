// locks.h -- the locks of locks/all.h behind the words of OpenMP programs.
//
// What a program gives a lock has 4 zeroed bytes in every runtime and language (libgomp's
// omp_lock_t; the others have more). An algorithm that fits lives there. Any other one lives in an
// entry of a pool, and the word is the entry's number; 0: not used yet.
//
// A program may copy a lock that it has used with the object that it is in. In libgomp a lock is
// all that it is, and a copy another lock; so an entry knows whose it is, and the copy gets its own
// when it is first taken. In libomp the word is a number as well, and a copy the same lock.
#pragma once

#include <syncopate/locks/lock_table.h>
#include <syncopate/machine.h>

#include <cstdint>
#include <string_view>

namespace syncopate::openmp {

// Returns the algorithm for "name" or "name:wait", or null. An all-zero object is a free lock.
const erased_lock* find_lock(std::string_view specification) noexcept;

// A lock in the pool, with what a nest lock needs beside it.
struct pool_entry {
  alignas(64) unsigned char object[40];  // of a free entry its first bytes: the next one's number
  std::uint64_t owner;                   // of a nest lock; 0: nobody. Atomic access.
  std::uint32_t depth;                   // how often its owner holds it
  std::uint32_t home;                    // whose lock it is (home_of); 0: nobody's. Atomic access.
  const struct runtime* named_by;        // whose name for it `owner` is. Atomic access.
};
static_assert(sizeof(pool_entry) == 64);

// The word's entry, to take the lock or try to; makes one where there is none yet. Any thread; the
// program's first call that allocates, later ones are three loads.
pool_entry& entry_of(std::uint32_t* word) noexcept;

// The same to release the lock: the entry by which it is held, even if it lies elsewhere now.
pool_entry& held_entry(std::uint32_t* word) noexcept;

// Gives the word's entry back, if it has one. Requires: nobody uses the lock any more.
void release_entry(std::uint32_t* word) noexcept;

inline bool fits_word(const erased_lock& lock) noexcept {
  return lock.size <= sizeof(std::uint32_t);
}
inline void* lock_object(const erased_lock& lock, void* word) noexcept {
  return fits_word(lock) ? word : entry_of(static_cast<std::uint32_t*>(word)).object;
}
inline void* held_object(const erased_lock& lock, void* word) noexcept {
  return fits_word(lock) ? word : held_entry(static_cast<std::uint32_t*>(word)).object;
}

// Lock, try and unlock of the lock behind a word, recorded if that is wanted.
void lock_word(void* word) noexcept;
bool try_lock_word(void* word) noexcept;
void unlock_word(void* word) noexcept;

// The same for an object that is known already; `identity` is the address that reports show.
void lock_object_at(void* object, const void* identity) noexcept;
bool try_lock_object_at(void* object, const void* identity) noexcept;
void unlock_object_at(void* object, const void* identity) noexcept;

}  // namespace syncopate::openmp
