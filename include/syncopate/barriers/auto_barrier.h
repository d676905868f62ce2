// auto_barrier.h -- for teams whose user chooses nothing: few misses, waits as long as waits are.
//
// Source        Two participants: flags that each reads of the other (flag_pair.h); more: one
//               counter (Mellor-Crummey & Scott, ACM TOCS 9(1), 1991, algorithm 7, with growing
//               numbers in place of the sense). How we deviate: waiting is chosen anew each time
//               (wait/plan.h); nobody pays for sleepers that are not there.
// Fairness      all go on together.
// Space         1,280 B, no allocation, 0 B per participant.
// Uncontended   two participants: 1 store + 2 loads each. More: 1 RMW each; by the last
//               1 fence, of more than four 1 store, too.
// Contended     one miss of each of two; else n RMWs on one line, n - 1 waiters invalidated.
//
// Invariants
//   I1  Two participants: their episodes end as flag_pair.h says.
//   I2  arrived_ counts all arrivals; an arrival that finds v belongs to episode v / count_, which
//       ends when the counter reaches the next multiple of count_. released_ follows arrived_ from
//       one such multiple to the next. Counters do not wrap (64 bits).
//   I3  Whoever ends an episode, or a wait, signals: who sleeps is found (eventcount.h).
//
// Memory order (each tag stands at its site below)
//   [N]  acq_rel RMW of arrived_: what each did before it arrived happens-before the last arrival,
//        and before whoever waits on arrived_ itself.
//   [R]  release store of released_ -- synchronizes with the acquire load of it by who waits
//        (eventcount.h [A]).
//   [X]  relaxed: hints; or nobody is there.
//
// Checked by    tests/conformance/barrier_test.cpp, tests/check/barrier_check.cpp.
#pragma once

#include <syncopate/barriers/flag_pair.h>
#include <syncopate/barriers/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/eventcount.h>
#include <syncopate/wait/foreign_load.h>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

class auto_barrier {
 public:
  static constexpr barrier_traits traits{
      .numbered = true,
      .split = true,
      .summary = "flags for two, a counter for more; spins, yields or sleeps by experience",
      .source = "Mellor-Crummey & Scott 1991; Karlin et al. 1991"};

  // What arrive() returns: the word that ends the episode will reach this value.
  using arrival_token = std::uint64_t;

  // For `count` participants (1 and up).
  explicit auto_barrier(std::uint32_t count) noexcept : count_(count) {
    machine::prepare_asymmetric_fences();
  }

  // Blocks until all have arrived. Requires: one call of each participant per episode.
  void arrive_and_wait(std::uint32_t participant) noexcept {
    wait(arrive(participant), participant);
  }

  // Arrives without waiting. Requires: wait() of the same participant follows.
  [[nodiscard]] arrival_token arrive(std::uint32_t participant) noexcept {
    if (count_ == 2) return arrive_at_flag(participant);
    const std::uint64_t before = arrived_.value.fetch_add(1, std::memory_order_acq_rel);  // [N]
    const arrival_token end = (before / count_ + 1) * count_;
    if (before + 1 == end) {
      if (count_ > few) released_.value.store(end, std::memory_order_release);  // [R]
      over_.signal();
    }
    return end;
  }

  // Blocks until the episode has ended in which arrive() returned `token` to the participant.
  void wait(arrival_token token, std::uint32_t participant) noexcept {
    wait(token, participant, [] { return false; });
  }

  // The same for a participant that can be called away: returns as well when called_away() holds.
  // It has arrived all the same, and may not arrive again before the others have. Whoever makes
  // that true calls wake_called() next.
  template <class CalledAway>
  void wait(arrival_token token, std::uint32_t participant, CalledAway called_away) noexcept {
    const auto ended = [&](std::uint64_t now) { return now >= token || called_away(); };
    if (count_ == 2) {
      wait_at(flags_.flag_of(1 - participant, token), ended, meets_on_one_processor(participant));
      flags_.prepare_next(participant, token);
    } else {
      wait_at((count_ > few ? released_ : arrived_).value, ended, count_ > machine::processors());
    }
  }

  // Asserts the invariants. Requires: nobody is in it.
  void check_invariants() const noexcept {
    [[maybe_unused]] const std::uint64_t arrived =
        arrived_.value.load(std::memory_order_relaxed);                                   // [X]
    if (count_ == 2) return flags_.check_invariants();                                    // I1
    assert(arrived % count_ == 0);                                                        // I2
    assert(count_ <= few || released_.value.load(std::memory_order_relaxed) == arrived);  // I2 [X]
  }

  // Lets sleepers look whether they are called away.
  void wake_called() noexcept { over_.signal(); }

 private:
  // Up to so many participants watch the counter itself: the last arrival then is the signal, which
  // saves a miss, and the others' arrivals disturb few. A prototype's best bound on two cores.
  static constexpr std::uint32_t few = 4;

  struct alignas(128) counter {
    std::atomic<std::uint64_t> value{0};
  };

  arrival_token arrive_at_flag(std::uint32_t participant) noexcept {
    // A store only when it changed: the line is read by both.
    auto& where = processor_[participant];
    if (const unsigned here = machine::processor();
        where.load(std::memory_order_relaxed) != here)  // [X]
      where.store(here, std::memory_order_relaxed);     // [X]
    const arrival_token episode = flags_.arrive(participant);
    over_.signal();
    return episode;
  }

  // Whether the one that we wait for cannot run while we do.
  [[nodiscard]] bool meets_on_one_processor(std::uint32_t participant) const noexcept {
    return processor_[1 - participant].load(std::memory_order_relaxed) ==  // [X]
           processor_[participant].load(std::memory_order_relaxed);        // [X]
  }

  template <class Ended>
  void wait_at(const std::atomic<std::uint64_t>& word, Ended ended, bool crowded) noexcept {
    if (crowded) waits::be_seen();
    else if (count_ == 2) flag_pair::let_arrive();
    over_.wait(word, ended, crowded);
    if (crowded) waits::be_seen();
  }

  const std::uint32_t count_;
  std::atomic<unsigned> processor_[2]{machine::no_processor,
                                      machine::no_processor};  // of two; where each last arrived
  flag_pair flags_;
  counter arrived_, released_;
  // Of two each participant ends the other's wait; of more only the last one pays for a fence,
  // and a heavy one by each sleeper would cost far more.
  alignas(128) waits::eventcount over_{count_ == 2 ? waits::fences::light : waits::fences::full};
};

}  // namespace syncopate
