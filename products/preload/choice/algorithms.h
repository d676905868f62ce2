// algorithms.h -- the locks of locks/all.h as functions on the bytes inside a pthread_mutex_t.
#pragma once

#include <syncopate/elide/retry_policy.h>
#include <syncopate/locks/lock_table.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/wait/spin.h>

#include <string_view>

namespace syncopate::shim {

// The lock beside auto that pthread_mutex_lock takes inline.
using inlined_lock = tatas_lock<waits::spin>;

// An all-zero object is a free lock; `object` points at algorithm::offset inside the mutex.
struct algorithm : erased_lock {
  bool shuns_owner;    // what is written beside its state aborts transactions
  bool keeps_polling;  // as in locks/traits.h
  bool is_inlined;     // inlined_lock
  // Its sections are elided, always and by this policy; null: as all others'.
  const elide::retry_policy* elision;
};

// Returns the algorithm for "name" or "name:wait", or null.
const algorithm* find_algorithm(std::string_view specification) noexcept;

}  // namespace syncopate::shim
