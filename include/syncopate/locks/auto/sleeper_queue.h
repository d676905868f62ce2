// sleeper_queue.h -- of auto_lock's second part: where its waiters sleep, in FIFO order.
//
// Source        the kernel's futex queue; a count of sleepers, so that nobody is woken in vain.
// Space         4 B: bits 0-15 how many sleep or are about to; bits 16-25 the number of wakes,
//               which wraps; bits 26-31 the fork generation. Unlike the lock's word it does not
//               change while the lock is released and taken again: so a waiter can fall asleep.
//
// Obligations
//   Q1  A sleeper joins before it looks for the last time whether it has to sleep, and sleeps only
//       while the queue is as join() has left it. Legal: to have joined and not to sleep.
//   Q2  Whoever lets a sleeper go calls announce_wake() before its wake(). So one that has joined
//       before and does not sleep yet will not. Legal: to wake in vain.
//   Q3  What threads of a parent process counted does not count (their generation is another).
//
// Memory order (each tag stands at its site below)
//   [Q]  acq_rel RMW by a sleeper or by a waker: a sleeper that joins after a wake sees what the
//        waker did before it.
//   [X]  relaxed: hints, and what [Q] repeats.
//
// Checked by    tests/check/auto_parts_check.cpp (no sleeper is left behind, explored to the end).
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate::auto_parts {

class sleeper_queue {
 public:
  // What the queue was, for a thread that means to sleep in it.
  using ticket = std::uint32_t;

  ticket join() noexcept { return add(one_sleeper); }
  void leave() noexcept { add(0u - one_sleeper); }
  ticket announce_wake() noexcept { return add(one_wake); }

  [[nodiscard]] std::uint32_t sleepers() const noexcept {
    return current(queue_.load(std::memory_order_relaxed)) & sleepers_mask;  // [X]
  }
  [[nodiscard]] bool has_sleepers() const noexcept { return sleepers() != 0; }
  [[nodiscard]] bool was_used() const noexcept {
    return queue_.load(std::memory_order_relaxed) != 0;  // [X]
  }

  static bool counts_sleepers(ticket seen) noexcept { return (seen & sleepers_mask) != 0; }
  // Whether only one sleeps: whoever has joined so.
  static bool is_first(ticket mine) noexcept { return (mine & sleepers_mask) == one_sleeper; }
  static std::uint32_t wakes(ticket seen) noexcept { return seen / one_wake; }

  // Sleeps until woken, until the deadline (if any), or not at all when there was a wake since.
  machine::park_result sleep(ticket mine, const machine::deadline* until) noexcept {
    return machine::park(&queue_, mine, until, this_processor());
  }

  // Wakes the one that has slept longest. Uses the futex's address only (Q2 comes before).
  static void wake_one(const void* futex) noexcept { machine::wake(futex, 1); }
  // The same, but of those that fell asleep on another processor, if any did: a kernel wakes a
  // thread where it ran last, and here it would be queued behind the caller.
  static void wake_one_elsewhere(const void* futex) noexcept {
    if (machine::wake(futex, 1, ~this_processor()) == 0) wake_one(futex);
  }

  // Requires: nobody waits (Q1: who has joined has left).
  void check_at_rest() const noexcept { assert(!has_sleepers()); }

  // For wake_one(): an address only.
  [[nodiscard]] const void* futex() const noexcept { return &queue_; }

 private:
  // As a futex's bitset; processors that are 32 apart share a bit.
  static std::uint32_t this_processor() noexcept {
    return std::uint32_t{1} << machine::processor() % 32;
  }

  static constexpr std::uint32_t one_sleeper = 1, sleepers_mask = 0xffff, one_wake = 1u << 16;
  static constexpr unsigned generation_shift = 26;

  static std::uint32_t generation() noexcept {
    return machine::fork_generation() << generation_shift;
  }
  static ticket current(ticket seen) noexcept {
    return seen >> generation_shift == generation() >> generation_shift ? seen : generation();
  }
  ticket add(std::uint32_t added) noexcept {
    std::uint32_t seen = queue_.load(std::memory_order_relaxed), next;  // [X]
    do {
      next = generation() | ((current(seen) + added) & ((1u << generation_shift) - 1));
    } while (!queue_.compare_exchange_weak(seen, next, std::memory_order_acq_rel,  // [Q]
                                           std::memory_order_relaxed));            // [X]
    return next;
  }

  std::atomic<std::uint32_t> queue_{0};
};

}  // namespace syncopate::auto_parts
