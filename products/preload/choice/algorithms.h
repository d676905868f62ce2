// algorithms.h -- the locks of locks/all.h as functions on the bytes inside a pthread_mutex_t.
#pragma once

#include <syncopate/elide/retry_policy.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/machine.h>
#include <syncopate/wait/spin.h>

#include <cstdint>

namespace syncopate::shim {

// The lock beside auto that pthread_mutex_lock takes inline.
using inlined_lock = tatas_lock<waits::spin>;

// An all-zero object is a free lock; `object` points at algorithm::offset inside the mutex.
struct algorithm {
  const char* name;
  const char* wait;           // "" where the algorithm brings its own waiting
  bool is_default;            // what `name` alone stands for
  bool shuns_owner;           // what is written beside its state aborts transactions
  bool runs_ahead;            // as in locks/traits.h
  bool glibc_word;            // likewise: its state is the mutex itself
  bool keeps_owner;           // likewise
  bool remembers_contention;  // likewise
  bool keeps_polling;         // likewise
  bool is_inlined;            // inlined_lock
  void (*lock)(void* object);
  bool (*try_lock)(void* object);
  void (*unlock)(void* object);
  bool (*contended)(const void* object);
  bool (*is_locked)(const void* object);  // also the subscription of a transaction
  // Its sections are elided, always and by this policy; null: as all others'.
  const elide::retry_policy* elision;
  // Waits in line until the deadline; null where timed locking has to poll try_lock.
  bool (*lock_until)(void* object, const machine::deadline& until);
};

// Returns the algorithm for "name" or "name:wait", or null.
const algorithm* find_algorithm(const char* specification) noexcept;

}  // namespace syncopate::shim
