// spinner_slot.h -- auto_lock's third part: one newcomer at most spins for the lock, and what it
// learns is kept for the next one. (auto_lock lets others spin beside it; they learn nothing.)
//
// Source        spin_tuning.h (how long, how often); one spinner at a time: glibc's adaptive mutex
//               lets all spin, which on few processors keeps the holder from its own.
// Space         2 B: bit 15 a newcomer spins; bits 12-14 its fork generation; bits 0-11 the tuning.
//
// Obligations
//   P1  Whoever announced itself withdraws, and only it. Legal: to sleep without having spun.
//   P2  A spinner of a parent process is none (its generation is another).
//
// Memory order (each tag stands at its site below)
//   [X]  relaxed: it publishes nothing but itself.
//
// Checked by    tests/check/spinner_check.cpp (one spinner of two, of three; explored to the end).
#pragma once

#include <syncopate/locks/auto/spin_tuning.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate::auto_parts {

class spinner_slot {
 public:
  // Returns false if another newcomer spins; else what was learned.
  bool announce(spin_tuning& so_far) noexcept {
    std::uint16_t seen = bits_.load(std::memory_order_relaxed);  // [X]
    so_far = spin_tuning::from_bits(seen);
    const auto mine = static_cast<std::uint16_t>(announcement() | so_far.bits());
    return seen >> generation_shift != announcement() >> generation_shift &&
           bits_.compare_exchange_strong(seen, mine, std::memory_order_relaxed,  // [X]
                                         std::memory_order_relaxed);             // [X]
  }

  void withdraw(const spin_tuning& next) noexcept {
    bits_.store(next.bits(), std::memory_order_relaxed);  // [X]
  }

  [[nodiscard]] spin_tuning tuning() const noexcept {
    return spin_tuning::from_bits(bits_.load(std::memory_order_relaxed));  // [X]
  }
  // At any time.
  void check_invariants() const noexcept { assert(tuning().budget <= spin_tuning::max_budget); }
  // Requires: nobody waits (P1).
  void check_at_rest() const noexcept {
    assert((bits_.load(std::memory_order_relaxed) & 0x8000) == 0);  // [X]
  }
  [[nodiscard]] bool was_used() const noexcept {
    return bits_.load(std::memory_order_relaxed) != 0;  // [X]
  }

 private:
  static constexpr unsigned generation_shift = spin_tuning::bits_used;

  static std::uint16_t announcement() noexcept {
    return static_cast<std::uint16_t>(0x8000 | (machine::fork_generation() % 8)
                                                   << generation_shift);
  }

  std::atomic<std::uint16_t> bits_{0};
};

}  // namespace syncopate::auto_parts
