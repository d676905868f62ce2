// learning.h -- sixteen bits with which a lock learns whether elision pays for it.
//
// After failures (sections that ran under the lock because their transactions would not commit)
// elision is left out for a number of acquisitions that doubles twice with each further failure;
// then it is tried again. Each commit makes up for half a failure, so that elision stays on where
// fewer than one section in three fails. A commit is credited when the section begins, and taken
// back if it fails: once it has committed, the lock may be gone.
//
// State     bits 12-15 level: 0 all is well; shrinks by 1 with each beginning, grows by 3 with a
//           failure
//           bits 0-11  how many acquisitions are still to take the lock without trying
// All-zero bits are a lock about which nothing is known. Every bit pattern is a valid state: what
// two threads write at the same time may be lost, and costs an attempt more or less. Written
// outside of transactions only, and never while all is well: the state may share its cache line
// with the lock's word, which transactions have read.
//
// Source    skipping after a failure: glibc's elision (removed in 2.43), there for a fixed number
//           of acquisitions; growing it exponentially: as Ethernet and spin locks back off.
//
// Memory order
//   [L]  relaxed: hints, which may be lost.
#pragma once

#include <atomic>
#include <cstdint>

namespace syncopate::elide {

// The transitions, pure.
namespace learned {
inline constexpr unsigned level_shift = 12;
inline constexpr std::uint16_t skip_mask = 0x0fff;
inline constexpr unsigned highest = 13;   // leaves out 4,095 acquisitions
inline constexpr unsigned tolerated = 4;  // up to this level nothing is left out
inline constexpr unsigned per_failure = 3;

constexpr unsigned level(std::uint16_t state) noexcept { return state >> level_shift; }
constexpr unsigned skips(std::uint16_t state) noexcept { return state & skip_mask; }
constexpr std::uint16_t make(unsigned level, unsigned skips) noexcept {
  return static_cast<std::uint16_t>(level << level_shift | skips);
}

// Whether the next acquisition should try elision.
constexpr bool pays(std::uint16_t state) noexcept { return skips(state) == 0; }

// An acquisition took the lock without trying.
constexpr std::uint16_t after_skip(std::uint16_t state) noexcept {
  return skips(state) == 0 ? state : static_cast<std::uint16_t>(state - 1);
}

// A section's transactions would not commit. Others that had begun before this was known fail at
// the same time: one failure is counted.
constexpr std::uint16_t after_failure(std::uint16_t state) noexcept {
  if (skips(state) != 0) return state;
  const unsigned next = level(state) + per_failure < highest ? level(state) + per_failure : highest;
  return make(next, next <= tolerated ? 0 : (1u << (next - 1)) - 1);
}

// A section begins its first transaction, and will commit for all one knows.
constexpr std::uint16_t after_begin(std::uint16_t state) noexcept {
  return level(state) == 0 ? state : make(level(state) - 1, skips(state));
}
}  // namespace learned

class learning {
 public:
  [[nodiscard]] bool pays() const noexcept { return learned::pays(load()); }
  [[nodiscard]] std::uint16_t state() const noexcept { return load(); }

  // Requires: the calling thread is in no transaction.
  void skipped() noexcept { become(learned::after_skip); }
  void failed() noexcept { become(learned::after_failure); }
  void begins() noexcept { become(learned::after_begin); }

 private:
  [[nodiscard]] std::uint16_t load() const noexcept {
    return state_.load(std::memory_order_relaxed);  // [L]
  }
  void become(std::uint16_t (*next)(std::uint16_t) noexcept) noexcept {
    const std::uint16_t before = load(), after = next(before);
    if (after != before) state_.store(after, std::memory_order_relaxed);  // [L]
  }

  std::atomic<std::uint16_t> state_{0};
};
static_assert(sizeof(learning) == 2);

}  // namespace syncopate::elide
