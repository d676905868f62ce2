// fork_join.h -- a master hands work to its members, again and again, and waits until all are done.
//
// Source        the halves of a barrier (Mellor-Crummey & Scott, ACM TOCS 9(1), 1991, section 3),
//               as LLVM's OpenMP runtime has them. A region takes one wait of each thread, where
//               two barriers, one at each end, take two (libgomp). How we deviate: with one member
//               all words are doubled, as in flag_pair.h; the work lies in the line that announces
//               it.
// Fairness      the master goes on when all members have arrived.
// Space         768 B, no allocation, 0 B per member.
// Uncontended   master 1 store + 1 load, each member 1 RMW + 1 load (a store, where it is alone).
// Contended     one miss of each of two; else n RMWs on one line, n waiters invalidated.
//
// Invariants
//   I1  starts_[r % 2] is written by the master only, at the start of region r; nobody reads it
//       then: all members have arrived in r - 1, and so have read what it held for r - 2.
//   I2  Each member arrives once in each region, in order. One member: arrived_[r % 2] holds the
//       last region of that parity in which it did. More: arrived_[0] counts the arrivals of all
//       regions. Numbers do not wrap (64 bits).
//
// Memory order (each tag stands at its site below)
//   [S]  release store of a region's number -- synchronizes with [A]: what the master did before,
//        and the work.
//   [R]  release store, or acq_rel RMW, of an arrival -- synchronizes with the master's acquire
//        load of it. With several members each RMW continues the others' release.
//   [A]  acquire load of a region's number, as eventcount.h has it.
//   [X]  relaxed: hints; or all have arrived.
//
// Checked by    tests/check/fork_join_check.cpp.
#pragma once

#include <syncopate/barriers/flag_pair.h>
#include <syncopate/machine.h>
#include <syncopate/wait/eventcount.h>
#include <syncopate/wait/foreign_load.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

template <class Work>
class fork_join {
 public:
  // For one master and `members` others (1 and up).
  explicit fork_join(std::uint32_t members) noexcept : members_(members) {
    machine::prepare_asymmetric_fences();
  }

  // The master's. Begins the next region. Requires: join() has returned since the last one, unless
  // this is the first.
  void fork(const Work& what) noexcept {
    start& next = starts_[++region_ % 2];
    next.what = what;
    if (alone()) note(master_at_);
    next.region.store(region_, std::memory_order_release);  // [S]
    machine::demote(&next);
    started_.signal();
  }

  // The master's. Blocks until all members have arrived, or called_away() holds.
  template <class CalledAway>
  void join(CalledAway called_away) noexcept {
    const std::uint64_t wanted = alone() ? region_ : region_ * members_;
    const bool yields = crowded();
    if (yields) waits::be_seen();
    else if (alone()) flag_pair::let_arrive();
    ended_.wait(
        arrivals(region_), [&](std::uint64_t now) { return now >= wanted || called_away(); },
        yields);
    if (yields) waits::be_seen();
    machine::prefetch_to_write(&starts_[(region_ + 1) % 2]);
  }

  // A member's. Blocks until region `number` (1, 2, ...) has begun; returns its work, which stays
  // until the member arrives. Null instead when called_away() holds before.
  template <class CalledAway>
  const Work* next(std::uint64_t number, CalledAway called_away) noexcept {
    const start& mine = starts_[number % 2];
    const bool yields = crowded();
    if (yields) waits::be_seen();
    started_.wait(
        mine.region, [&](std::uint64_t now) { return now == number || called_away(); }, yields);
    if (yields) waits::be_seen();
    if (mine.region.load(std::memory_order_acquire) != number) return nullptr;  // [A]
    if (alone()) machine::prefetch_to_write(&arrivals(number));
    return &mine.what;
  }

  // A member's: its work of that region is done.
  void arrive(std::uint64_t number) noexcept {
    auto& word = arrivals(number);
    if (alone()) {
      note(member_at_);
      word.store(number, std::memory_order_release);  // [R]
      machine::demote(&word);
    } else if (word.fetch_add(1, std::memory_order_acq_rel) + 1 != number * members_) {  // [R]
      return;
    }
    ended_.signal();
  }

  // The master's. Asserts the invariants. Requires: join() has returned since the last fork().
  void check_invariants() const noexcept {
    [[maybe_unused]] const std::uint64_t arrived =
        arrived_[alone() ? region_ % 2 : 0].value.load(std::memory_order_relaxed);   // [X]
    assert(arrived == region_ * (alone() ? 1 : members_));                           // I2
    assert(starts_[region_ % 2].region.load(std::memory_order_relaxed) == region_);  // I1 [X]
  }

  // The master's. How many have begun.
  [[nodiscard]] std::uint64_t regions() const noexcept { return region_; }

  // Lets who sleeps look whether it is called away.
  void wake_called() noexcept {
    started_.signal();
    ended_.signal();
  }

 private:
  struct alignas(128) start {
    std::atomic<std::uint64_t> region{0};
    Work what{};
  };
  struct alignas(128) arrival {
    std::atomic<std::uint64_t> value{0};
  };

  [[nodiscard]] bool alone() const noexcept { return members_ == 1; }

  // A store only when it changed: the line is read by both.
  static void note(std::atomic<unsigned>& where) noexcept {
    if (const unsigned here = machine::processor();
        where.load(std::memory_order_relaxed) != here)  // [X]
      where.store(here, std::memory_order_relaxed);     // [X]
  }

  // Whether whom one waits for cannot run, most likely, while one polls.
  [[nodiscard]] bool crowded() const noexcept {
    if (members_ >= machine::processors()) return true;
    return alone() && master_at_.load(std::memory_order_relaxed) ==    // [X]
                          member_at_.load(std::memory_order_relaxed);  // [X]
  }

  static waits::fences fences_for(std::uint32_t members) noexcept {
    return members == 1 ? waits::fences::light : waits::fences::full;
  }
  std::atomic<std::uint64_t>& arrivals(std::uint64_t number) noexcept {
    return arrived_[alone() ? number % 2 : 0].value;
  }

  start starts_[2];
  arrival arrived_[2];
  alignas(128) const std::uint32_t members_;
  // Of two; where each was last. Unlike at first, when they are not known.
  std::atomic<unsigned> master_at_{machine::no_processor}, member_at_{machine::no_processor - 1};
  waits::eventcount started_{fences_for(members_)}, ended_{fences_for(members_)};
  alignas(64) std::uint64_t region_ = 0;  // the master's
};

}  // namespace syncopate
