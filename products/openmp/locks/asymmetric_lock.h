// asymmetric_lock.h -- test-and-test-and-set in four bytes, released by a plain store: who
// sleeps is counted elsewhere (sleep_table.h), and pays for being seen.
//
// Polling says how long to poll: polling_ticks() at first; then, while the others sleep,
// successor_ticks(), after due_ticks() of which the lock is handed over; may_yield(): whether other
// threads of the program want the processor.
//
// Source        locks/tatas_lock.h; asymmetric fences: Dice, Huang & Yang, "Asymmetric Dekker
//               Synchronization", 2001; the successor: locks/auto_lock.h.
// Fairness      eventual, where waiters may poll: one that others keep overtaking is due after
//               due_ticks(), and then the releasing thread lets it go first.
// Space         4 B per lock, 0 B per waiter.
// Uncontended   lock 1 RMW; unlock 1 store + 1 load of a line that changes only when somebody goes
//               to sleep.
// Contended     as tatas, by newcomers and one successor. Those behind the successor cost the
//               holder nothing. The successor's going to sleep costs a heavy fence (a microsecond)
//               more, and the holder one call of the kernel.
//
// Invariants
//   I1  word_ == held exactly while a thread holds the lock.
//   I2  Who sleeps on word_ has counted itself, executed a heavy fence, and then found the lock
//       held; who releases it executes a light fence, then reads the count. So one of the two sees
//       the other.
//   I3  A sleeper is counted until it is woken, and taken off by whoever woke it: releases that
//       follow before it runs call nobody. It then polls as at first, and counts itself anew before
//       it sleeps again. Who was not put to sleep takes itself off.
//   I4  So a sleeper that nobody counts is awake; one too many is counted when the kernel ends a
//       sleep that no release has ended, and that costs calls of the kernel but no wake-up.
//   I5  A successor that has got the lock, and has left others behind, says so beside the count
//       before it releases the lock; whose release finds it there calls one of them.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of free -- synchronizes with [A].
//   [A]  acquire RMW that finds the lock free: the previous critical section happens-before ours.
//   [T]  relaxed load: the first test; it publishes nothing and decides only when to try [A].
//   [F]  the two fences of I2.
//   [C]  relaxed RMW of the count: the fences order it (I2). Of `due`: a late sight costs time.
//   [N]  release RMW that sets call_next, acquire RMW that clears it: a release of an earlier
//        holder may find it, and its call has to come after the successor's leaving
//        (successor_slot.h, [C]).
//
// Checked by    tests/openmp/asymmetric_lock_scenarios.cpp (every interleaving of two threads),
//               test_locks.c.
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>

#include "openmp/locks/sleep_table.h"
#include "openmp/locks/successor_slot.h"

namespace syncopate::openmp {

template <class Polling>
class asymmetric_lock {
 public:
  static constexpr lock_traits traits{
      .fair = fairness::eventual,
      .preload = false,
      .summary = "test-and-test-and-set in four bytes, whose holder need not look for sleepers",
      .source = "Dice, Huang & Yang 2001 for the asymmetric fences"};

  // Blocks until the lock is held.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    return word_.exchange(held, std::memory_order_acquire) == free;  // [A]
  }

  // Requires: somebody holds the lock.
  void unlock() noexcept {
    const void* const address = &word_;
    word_.store(free, std::memory_order_release);  // [R]
    if (may_sleep(address)) answer(address);       // [F]
  }

  // Whether some thread holds the lock; a hint.
  [[nodiscard]] bool is_locked() const noexcept {
    return word_.load(std::memory_order_relaxed) != free;  // [T]
  }

  // Whether somebody sleeps; a hint.
  [[nodiscard]] bool contended() const noexcept {
    return sleepers_on(&word_).load(std::memory_order_relaxed) != 0 ||  // [T]
           slot_of(&word_).is_for(&word_);
  }

 private:
  enum : std::uint32_t { free = 0, held = 1 };
  // Above the count of sleepers: a successor is due; a successor's release has to call another.
  enum : std::uint32_t { due = 1u << 30, call_next = 1u << 31, sleepers = due - 1 };
  static constexpr std::uint32_t max_delay = 64;  // PAUSE steps; locks/tatas_lock.h
  // Each look takes the line away from who holds the lock. Who has waited for so many times as long
  // as between two looks lets twice as much time pass: that is not much later, for it.
  static constexpr std::uint64_t rarity = 8;
  static constexpr std::uint64_t longest_yield = 400'000;   // ticks; as Polling's
  static constexpr std::uint64_t remembered = 200'000'000;  // ticks that it may be there again
  static constexpr std::int64_t nap = 50'000;               // ns; locks/auto_lock.h
  // A successor that is due takes a free lock within some hundred nanoseconds, or does not run.
  static constexpr std::uint32_t courtesy_steps = 32;

  // When a yield took that long; of the process.
  static inline constinit std::atomic<std::uint64_t> lost{0};

  [[nodiscard]] bool try_lock_tested() noexcept {
    return word_.load(std::memory_order_relaxed) == free && try_lock();  // [T]
  }

  // Those who asked for something before the lock was released get it. The lock may be gone.
  [[gnu::noinline, gnu::cold]] static void answer(const void* address) noexcept {
    auto& asked = sleepers_on(address);
    const std::uint32_t seen = asked.load(std::memory_order_relaxed);  // [T]
    if ((seen & call_next) != 0 &&
        (asked.fetch_and(~call_next, std::memory_order_acquire) & call_next) != 0)  // [N]
      slot_of(address).call();
    if ((seen & sleepers) != 0 && machine::wake(address, 1) == 1)
      asked.fetch_sub(1, std::memory_order_relaxed);  // [C]
    if ((seen & due) != 0) let_go_first(asked);
  }

  // Once for each time that a successor is due: it may be the successor of another lock, or not
  // run.
  static void let_go_first(std::atomic<std::uint32_t>& asked) noexcept {
    for (std::uint32_t left = machine::polls(courtesy_steps); left != 0; --left) {
      if ((asked.load(std::memory_order_relaxed) & due) == 0) return;  // [T]
      machine::relax();
    }
    asked.fetch_and(~due, std::memory_order_relaxed);  // [C]
  }

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    if (poll(Polling::polling_ticks())) return;
    successor_slot& slot = slot_of(&word_);
    if (!slot.enter(&word_)) {
      while (!sleep() && !poll(Polling::polling_ticks())) {
      }
      return;
    }
    while (!poll_as_successor() && !sleep()) {
    }
    if (slot.leave()) sleepers_on(&word_).fetch_or(call_next, std::memory_order_release);  // [N]
  }

  // Polls for so many ticks, with yields if wanted. Returns whether the lock is held now.
  [[nodiscard]] bool poll(std::uint64_t limit, bool may_yield = false) noexcept {
    const std::uint64_t start = machine::ticks();
    std::uint64_t now = start, took = 0;
    std::uint32_t delay = 1;
    do {
      if (try_lock_tested()) return true;
      const std::uint64_t last = now;
      const bool looks_less = now - start >= took * rarity;
      if (delay < max_delay) machine::spin(delay *= 2);
      else if (!may_yield) machine::spin(looks_less ? delay *= 2 : delay);
      else if (now - lost.load(std::memory_order_relaxed) < remembered)  // [T]
        return nap_until(start + limit);
      else machine::yield();
      now = machine::ticks();
      took = now - last;
      // Somebody computes here, and takes a time slice for a yield. Whoever wakes from a sleep gets
      // the processor back.
      if (may_yield && now - last > longest_yield)
        lost.store(now, std::memory_order_relaxed);  // [T]
    } while (now - start < limit);
    return false;
  }

  // Looks at the lock from time to time, at no cost to its holder.
  [[nodiscard]] bool nap_until(std::uint64_t limit) noexcept {
    std::atomic<std::uint32_t> nobody_wakes{0};
    while (machine::ticks() < limit) {
      const machine::deadline look = machine::after(nap);
      (void)machine::park(nobody_wakes, 0, &look);
      if (try_lock_tested()) return true;
    }
    return false;
  }

  // The same; toward the end with the right to go first.
  [[nodiscard]] bool poll_as_successor() noexcept {
    const std::uint64_t limit = Polling::successor_ticks(), until_due = Polling::due_ticks();
    if (poll(until_due < limit ? until_due : limit, Polling::may_yield())) return true;
    if (limit <= until_due) return false;
    auto& asked = sleepers_on(&word_);
    const std::uint64_t start = machine::ticks();
    bool taken;
    do {
      if ((asked.load(std::memory_order_relaxed) & due) == 0)  // [T]
        asked.fetch_or(due, std::memory_order_relaxed);        // [C]
      taken = try_lock_tested();
      if (!taken) machine::relax();
    } while (!taken && machine::ticks() - start < limit - until_due);
    asked.fetch_and(~due, std::memory_order_relaxed);  // [C]
    return taken;
  }

  // Sleeps once, unless the lock is free. Returns whether it is held now.
  [[nodiscard]] bool sleep() noexcept {
    auto& asked = sleepers_on(&word_);
    asked.fetch_add(1, std::memory_order_relaxed);  // [C]
    const bool is_seen = machine::heavy_fence();    // [F]
    const bool taken = try_lock_tested();
    if (!taken && is_seen && machine::park(word_, held) == machine::park_result::woken)
      return false;                                 // taken off by the waker (I3)
    asked.fetch_sub(1, std::memory_order_relaxed);  // [C]
    if (!taken && !is_seen) machine::yield();
    return taken;
  }

  std::atomic<std::uint32_t> word_{free};
};

}  // namespace syncopate::openmp
