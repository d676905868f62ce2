// limbo.h -- memory that committed transactions freed, kept until no transaction that may still
// read it is running.
//
// Source        Fraser, "Practical lock-freedom", UCAM-CL-TR-579, 2004, section 5.2.3 (epochs). How
//               we deviate: an epoch begins with each full batch, not when all threads have seen
//               the last one.
//
// A running optimistic transaction shows the epoch in which it began (transaction::active). A block
// enters a batch after its transaction has committed, so whoever begins later cannot find it. The
// batch is closed with the epoch number then in force, which it advances: transactions that began
// in later epochs cannot hold a pointer into it.
//
// Memory order (each tag stands at its site below)
//   [E]  seq_cst RMW: who reads the new epoch, with acquire (regime.h, [A]), sees all commits whose
//        blocks the batch has; the old one closes the batch.
#pragma once

#include "tm/logs/allocations.h"

#include <atomic>

namespace syncopate::tm {

// The present epoch: odd, so that it is never the 0 of an idle thread.
inline constinit std::atomic<u32> epoch{1};

// The oldest epoch in which a running transaction began; the present one when none runs.
u32 oldest_epoch() noexcept;

class limbo {
 public:
  static constexpr std::size_t batch_size = 64;

  // Takes all blocks. Those that find no memory here are leaked.
  void take(allocations& freed) noexcept {
    for (const block& b : freed) (void)open_.add(b.at, b.size, b.release);
    freed.clear();
    if (open_.size() >= batch_size) turn();
  }

  // Frees everything. Requires: no optimistic transaction runs.
  void release_all() noexcept {
    closed_.release(0);
    open_.release(0);
  }
  [[nodiscard]] bool empty() const noexcept { return open_.empty() && closed_.empty(); }

 private:
  // Frees the closed batch if nobody can see it any more, and then closes the open one.
  [[gnu::noinline, gnu::cold]] void turn() noexcept {
    if (!closed_.empty()) {
      if (static_cast<std::int32_t>(oldest_epoch() - closed_in_) <= 0) return;
      closed_.release(0);
    }
    for (const block& b : open_) (void)closed_.add(b.at, b.size, b.release);
    open_.clear();
    closed_in_ = epoch.fetch_add(2, std::memory_order_seq_cst);  // [E]
  }

  allocations open_, closed_;
  u32 closed_in_ = 0;
};

}  // namespace syncopate::tm
