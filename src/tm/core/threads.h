// threads.h -- the descriptors of all threads that have run a transaction.
#pragma once

#include "tm/core/transaction.h"

namespace syncopate::tm {

// The first descriptor; the others follow by `next`. Descriptors are reused, never freed.
transaction* all_threads() noexcept;

// How many threads have a descriptor now.
u32 threads_attached() noexcept;

// The descriptor with this number, or null. O(1).
transaction* thread_in_slot(u32 slot) noexcept;

// Gives the calling thread a descriptor, which it keeps until it ends. Reads the configuration the
// first time. Does not return when there is no memory: one line, and abort().
transaction* attach() noexcept;

[[gnu::always_inline]] inline transaction* self() noexcept {
  transaction* const tx = current;
  return __builtin_expect(tx != &nobody, 1) ? tx : attach();
}

}  // namespace syncopate::tm
