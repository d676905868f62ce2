// quiescence.h -- waiting, after a commit, for transactions that began before it.
//
// For algorithms under which such a transaction could still read, or write back, memory that the
// commit has made private to its thread. Who finds one waits a little, and then sleeps until some
// transaction says that it is no longer in the way.
//
// Memory order (each tag stands at its site below)
//   [Q]  store of writing or seen by the transaction that ends, light fence, load of sleepers --
//        against RMW of sleepers, heavy fence, the look at what was stored: either the one who
//        sleeps sees the end, or it is woken.
//   [W]  acquire loads of what a transaction shows: what it did before it ended, or moved on,
//        happens-before what the commit's thread does next. In this order: `writing` counts only of
//        a transaction that is active, `seen` of one that writes.
//   [R]  rings before wake(), acquire load before the look at the other: a ring that is missed
//        makes park() return at once.
//   [K]  relaxed: a sleeper too many costs a wake.
//   [E]  release store: what the commit read and wrote happens-before who does not wait for it.
#pragma once

#include "tm/core/backoff.h"
#include "tm/core/fences.h"
#include "tm/core/threads.h"

namespace syncopate::tm {

struct alignas(64) quiescence_bell {
  std::atomic<u32> sleepers{0};
  std::atomic<u32> rings{0};
};
inline constinit quiescence_bell bell;

// To be called when a transaction has stored that it is not in the way of commits.
[[gnu::always_inline]] inline void ring_bell() noexcept {
  machine::light_fence();                                                               // [Q]
  if (__builtin_expect(bell.sleepers.load(std::memory_order_relaxed) == 0, 1)) return;  // [Q]
  bell.rings.fetch_add(1, std::memory_order_relaxed);                                   // [R]
  machine::wake(&bell.rings, INT32_MAX);
}

// `writers_only`: those that cannot have written in place are not in the way.
inline bool is_in_the_way(const transaction* other, u64 version, bool writers_only) noexcept {
  return other->active.load(std::memory_order_acquire) != 0 &&                 // [W]
         (!writers_only || other->writing.load(std::memory_order_acquire)) &&  // [W]
         other->seen.load(std::memory_order_acquire) < version;                // [W]
}

[[gnu::noinline, gnu::cold]] inline void sleep_for_older(const transaction* other, u64 version,
                                                         bool writers_only) noexcept {
  constexpr std::int64_t look = 10'000'000;               // ns
  bell.sleepers.fetch_add(1, std::memory_order_seq_cst);  // [Q]
  heavy_fence();                                          // [Q]
  for (;;) {
    const u32 heard = bell.rings.load(std::memory_order_acquire);  // [R]
    if (!is_in_the_way(other, version, writers_only)) break;       // [Q]
    const machine::deadline limit = machine::after(look);
    machine::park(bell.rings, heard, &limit);
  }
  bell.sleepers.fetch_sub(1, std::memory_order_relaxed);  // [K]
}

// Waits for each other transaction with a snapshot older than `version` to end or to move on.
inline void wait_for_older(transaction* tx, u64 version, bool writers_only) noexcept {
  // Two that have committed do not wait for each other.
  tx->seen.store(~u64{0}, std::memory_order_release);  // [E]
  ring_bell();
  for (transaction* other = all_threads(); other != nullptr; other = other->next) {
    if (other == tx) continue;
    for (backoff p; is_in_the_way(other, version, writers_only); p.wait())
      if (p.is_over()) sleep_for_older(other, version, writers_only);
  }
}

}  // namespace syncopate::tm
