// successor_slot.h -- of those who wait long for one lock, one looks at it; the others sleep behind
// that one, of which whoever holds the lock knows nothing.
//
// Source        the successor of locks/auto_lock.h, without a place in the lock.
// Space         128 B per slot; locks whose addresses share a slot take turns at it.
//
// State         slot_: bits 18-63 the lock's address, bits 2-47 of it; bit 17 somebody is the
//               successor; bits 12-16 fork generation; bits 0-11 how many wait. No waiters, or
//               those of a parent process: the slot is free.
//               turns_: how often a sleeper was called; what they sleep on.
//
// Invariants
//   I1  While threads are counted in slot_, one is the successor; or a thread that was it holds the
//       lock and calls one when it releases it; or one is on its way to become the successor.
//   I2  A sleeper has read turns_, and then found a successor in slot_ that has it in the count.
//       That successor, when it leaves, sees from the count that there is somebody to call; the
//       call changes turns_. So who does not sleep yet will not.
//
// Memory order (each tag stands at its site below)
//   [E]  release RMW of slot_ by who enters -- synchronizes with [V]: turns_ was read before.
//   [V]  acquire RMW of slot_ by the successor that leaves it: its call comes after.
//   [C]  release RMW of turns_ by a call -- synchronizes with [T].
//   [T]  acquire load of turns_: who sees a call sees that the caller has left the slot.
//   [X]  relaxed load of slot_: decides what is tried in [E], or comes after [T].
//
// Checked by    tests/openmp/asymmetric_lock_scenarios.cpp (interleavings of three threads, as many
//               as are told; not [E] and [V]: without them a load might see a store that comes
//               later, which explored machines do not do).
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>

#include "openmp/locks/sleep_table.h"

namespace syncopate::openmp {

class alignas(128) successor_slot {
 public:
  // Waits until the caller is the successor of those who wait for the lock: true. False, at once,
  // where another lock's waiters have the slot, or too many wait.
  [[nodiscard]] bool enter(const void* lock) noexcept {
    for (bool counted = false;; counted = true) {
      const std::uint32_t turn = turns_.load(std::memory_order_acquire);  // [T]
      std::uint64_t seen = slot_.load(std::memory_order_relaxed);         // [X]
      std::uint64_t now, next;
      do {
        now = current(seen);
        if (counted) next = now | successor;
        else if ((now & waiters) == 0) next = (empty(lock) + 1) | successor;
        else if (!is_of(now, lock) || (now & waiters) == waiters) return false;
        else next = (now + 1) | successor;
      } while (next != seen &&
               !slot_.compare_exchange_weak(seen, next, std::memory_order_release,  // [E]
                                            std::memory_order_relaxed));            // [X]
      if ((now & successor) == 0) return true;
      (void)machine::park(turns_, turn);
    }
  }

  // The successor has the lock. Returns whether others wait: then the lock's release has to call
  // one.
  [[nodiscard]] bool leave() noexcept {
    return (slot_.fetch_sub(successor + 1, std::memory_order_acquire) & waiters) != 1;  // [V]
  }

  void call() noexcept {
    turns_.fetch_add(1, std::memory_order_release);  // [C]
    machine::wake(&turns_, 1);
  }

  // Whether somebody waits there for this lock; a hint.
  [[nodiscard]] bool is_for(const void* lock) const noexcept {
    const std::uint64_t now = current(slot_.load(std::memory_order_relaxed));  // [X]
    return (now & waiters) != 0 && is_of(now, lock);
  }

 private:
  static constexpr std::uint64_t waiters = 0xfff, generation_mask = 0x1f000, successor = 1u << 17;
  static constexpr unsigned generation_shift = 12, address_shift = 18, aligned_bits = 2;

  static std::uint64_t generation() noexcept {
    return std::uint64_t{machine::fork_generation()} << generation_shift & generation_mask;
  }
  // What a parent process left is nothing.
  static std::uint64_t current(std::uint64_t slot) noexcept {
    return (slot & generation_mask) == generation() ? slot : 0;
  }
  static std::uint64_t empty(const void* lock) noexcept {
    return reinterpret_cast<std::uintptr_t>(lock) >> aligned_bits << address_shift | generation();
  }
  static bool is_of(std::uint64_t slot, const void* lock) noexcept {
    return slot >> address_shift == empty(lock) >> address_shift;
  }

  std::atomic<std::uint64_t> slot_{0};
  std::atomic<std::uint32_t> turns_{0};
};

inline constinit successor_slot slots[sleep_counts]{};

inline successor_slot& slot_of(const void* lock) noexcept { return slots[sleep_index(lock)]; }

}  // namespace syncopate::openmp
