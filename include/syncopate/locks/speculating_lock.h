// speculating_lock.h -- any lock, whose waiters run ahead of it: `speculate` as a waiting strategy.
//
// Source        Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", PACT
//               2017, section III-A, figure 3 (for any lock with a try-lock), and the two limits
//               of sections III-B and III-C. How we deviate: see wait/speculate.h; the number of
//               threads that run ahead is counted, not estimated by those that have; a control
//               that measures whether it pays (wait/profit_control.h) is new.
// Fairness      the lock's, if it can tell places (draw, ahead, await). Else none: a waiter that
//               runs ahead is not in line meanwhile.
// Space         the lock's + 32 B, 4 B where it does not measure; 0 B per waiter.
// Uncontended   the lock's, and of thread-local memory: lock 1 load; unlock 2 loads + 1 store
//               (1 load where it does not measure). One unlock in 7 is measured.
// Contended     up to `runs` runs ahead per waiter, then as the lock; where the machine cannot run
//               ahead, as the lock at once.
//
// Invariants
//   I1  A thread that runs ahead neither takes nor releases a lock of this kind, and counts
//       nothing; what it writes is never seen by others.
//   I2  running_ahead counts the threads between their decision to run ahead and their return; it
//       is changed outside of transactions only.
//   I3  profit, samples and since are touched by the holder only; forbidden is what waiters
//       may know of them.
//
// Memory order (each tag stands at its site below)
//   [H]  relaxed: a limit or a hint; exclusion is the lock's business.
//
// Checked by    tests/conformance, tests/check/lock_check.cpp (explored with two and three threads,
//               as mcs:speculate and others of locks/all.h), tests/check/lockset_check.cpp;
//               tests/elide on the simulated machine, where threads do run ahead.
#pragma once

#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/profit_control.h>
#include <syncopate/wait/speculate.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace syncopate {

// When a waiter may run ahead. The numbers are the paper's, section IV-A.
struct speculation_limits {
  unsigned runs = 4;                   // per waiter (NUM_TRIES)
  unsigned at_once = 1;                // threads per lock (MAX_SPECS)
  unsigned nearest = 2, farthest = 3;  // places in line (MIN_DIST <= place < MAX_DIST = 4)
  bool measure_profit = true;
};

// As the paper's locks of figures 3 and 5 have it: any number at once, and nobody measures.
inline constexpr speculation_limits papers_limits{.at_once = ~0u, .measure_profit = false};

namespace detail {

// What a lock keeps of its waiters' runs ahead.
struct counted_runs {
  std::atomic<std::uint32_t> running_ahead{0};
};
struct measured_runs : counted_runs {
  std::atomic<std::uint16_t> forbidden{0};
  std::uint16_t samples = 0;
  std::uint64_t since = 0;  // when the window began; 0: the first, which has no beginning
  waits::profit_control profit;
};

constexpr speculation_limits without_profit(speculation_limits limits) {
  limits.measure_profit = false;
  return limits;
}

}  // namespace detail

// A lock whose waiters know how far from its head they are.
template <class Lock>
concept tells_places = requires(Lock& lock, std::uint32_t mine) {
  mine = lock.draw();
  mine = lock.ahead(mine);
  lock.await(mine);
};

template <class Lock, speculation_limits Limits = speculation_limits{}>
class speculating_lock {
 public:
  // An unmodified program's mutex has no room for the measuring: who keeps speculation there
  // measures elsewhere (wait/speculate.h).
  using in_mutex = speculating_lock<Lock, detail::without_profit(Limits)>;

  static constexpr lock_traits traits{
      .fair = tells_places<Lock> ? Lock::traits.fair : fairness::none,
      .collapses = Lock::traits.collapses,
      .spins = never_sleeps<Lock>,
      .runs_ahead = true,
      .summary = "any lock, whose waiters run ahead in transactions that never commit",
      .source = "Izraelevitz, Xiang & Scott 2017, section III-A"};

  // Blocks until the lock is held, or until the calling thread runs ahead as if it were.
  void lock() noexcept {
    if (__builtin_expect(!try_lock(), 0)) lock_slow();
  }

  // Returns whether the lock was free and is now held, or the thread runs ahead. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    return waits::speculation::active() || lock_.try_lock();
  }

  // Requires: the calling thread holds the lock, or runs ahead as if it did.
  void unlock() noexcept {
    if (waits::speculation::end(this)) return;
    if constexpr (Limits.measure_profit)
      if (machine::now_and_then(sample_period)) sample();
    lock_.unlock();
  }

  // Whether somebody waits, and whether some thread holds the lock, as the lock tells; hints.
  [[nodiscard]] bool contended() const noexcept { return lock_.contended(); }
  [[nodiscard]] bool is_locked() const noexcept { return lock_.is_locked(); }

  // Requires: the calling thread holds the lock, or runs ahead as if it did.
  void check_invariants() const noexcept {
    if constexpr (requires { lock_.check_invariants(); })
      if (!waits::speculation::active()) lock_.check_invariants();
  }

  // Whether waiters may run ahead now, as far as profit goes; a hint.
  [[nodiscard]] bool speculates() const noexcept {
    if constexpr (Limits.measure_profit)
      return runs_.forbidden.load(std::memory_order_relaxed) == 0;  // [H]
    return true;
  }

 private:
  // One unlock in 7 of a thread is counted (a prime, so that loops over several locks meet all):
  // the words of I3 then move between processors that seldom. A window is some 220 sections: long
  // against the misses of one, short against the life of a lock that is worth the trouble.
  static constexpr std::uint32_t sample_period = 7, samples_per_window = 32;
  static constexpr std::uint32_t slice = 4;  // PAUSE steps per place, as ticket_lock.h
  // Steps of a waiter that is too far away to run ahead, before it waits as the lock does: what
  // wait/spin_then_park.h spins for. Locks that never sleep have nothing better to do.
  static constexpr std::uint32_t most_far_steps = never_sleeps<Lock> ? ~0u : 500;

  [[gnu::noinline, gnu::cold]] void lock_slow() noexcept {
    if (!waits::speculation::possible()) {
      lock_.lock();
    } else if constexpr (tells_places<Lock>) {
      lock_in_line();
    } else {
      for (unsigned run = 0; run < Limits.runs && speculates(); ++run) {
        if (!run_ahead()) break;
        if (waits::speculation::active()) return;
        if (lock_.try_lock()) return;
      }
      lock_.lock();
    }
  }

  void lock_in_line() noexcept {
    const std::uint32_t mine = lock_.draw();
    std::uint32_t far_steps = 0;
    for (unsigned run = 0; run < Limits.runs && far_steps < most_far_steps && speculates();) {
      const std::uint32_t place = lock_.ahead(mine);
      if (place < Limits.nearest) break;
      if (place <= Limits.farthest) {
        ++run;
        if (!run_ahead()) machine::spin(place * slice);
        else if (waits::speculation::active()) return;
      } else {
        machine::spin(place * slice);
        if constexpr (!never_sleeps<Lock>) far_steps += place * slice;
      }
    }
    lock_.await(mine);
  }

  // Returns false when enough others run ahead; else true: the caller now runs ahead, which it must
  // ask, or has.
  [[nodiscard]] bool run_ahead() noexcept {
    std::atomic<std::uint32_t>& ahead = runs_.running_ahead;
    if (ahead.load(std::memory_order_relaxed) >= Limits.at_once) return false;         // [H]
    const bool room = ahead.fetch_add(1, std::memory_order_relaxed) < Limits.at_once;  // [H]
    if (room && waits::speculation::begin(this)) return true;
    ahead.fetch_sub(1, std::memory_order_relaxed);  // [H] after the abort, or at once
    return room;
  }

  [[gnu::noinline]] void sample() noexcept {
    if (++runs_.samples < samples_per_window) return;
    runs_.samples = 0;
    const std::uint64_t now = machine::ticks();
    if (runs_.since != 0) runs_.profit.window_ended(now - runs_.since);
    runs_.since = now;
    runs_.forbidden.store(runs_.profit.speculate() ? 0 : 1, std::memory_order_relaxed);  // [H]
  }

  Lock lock_;
  std::conditional_t<Limits.measure_profit, detail::measured_runs, detail::counted_runs> runs_;
};

}  // namespace syncopate
