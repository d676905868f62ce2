// quiescence.h -- L3: waiting, after a commit, for transactions that began before it.
//
// For algorithms under which such a transaction could still read, or write back, memory that the
// commit has made private to its thread.
#pragma once

#include "tm/parts/patience.h"
#include "tm/threads.h"

namespace syncopate::tm {

// Waits for each other transaction with a snapshot older than `version` to end or to move on.
// `writers_only`: those that cannot have written in place are left alone.
inline void wait_for_older(transaction* tx, u64 version, bool writers_only) noexcept {
  // Two that have committed do not wait for each other.
  tx->seen.store(~u64{0}, std::memory_order_release);
  for (transaction* other = all_threads(); other != nullptr; other = other->next) {
    if (other == tx) continue;
    for (patience p;; p.wait()) {
      if (other->active.load(std::memory_order_acquire) == 0) break;
      if (writers_only && !other->writing.load(std::memory_order_acquire)) break;
      if (other->seen.load(std::memory_order_acquire) >= version) break;
    }
  }
}

}  // namespace syncopate::tm
