// auto_barrier.h -- for teams whose user chooses nothing: few misses, waits as long as waits are.
//
// Source        Two participants: flags that each reads of the other (flag_pair.h); more: one
//               counter (Mellor-Crummey & Scott, ACM TOCS 9(1), 1991, algorithm 7, with growing
//               numbers in place of the sense). How we deviate: waiting is chosen anew each time
//               (wait/plan.h); who sleeps is found by asymmetric fences, so that nobody pays for
//               sleepers that are not there.
// Fairness      all go on together.
// Space         1,408 B, no allocation, 0 B per participant.
// Uncontended   two participants: 1 store + 2 loads each. More: 1 RMW each, 1 store by the last.
// Contended     one miss of each of two; else n RMWs on one line, n - 1 waiters invalidated.
//
// Invariants
//   I1  Two participants: their episodes end as flag_pair.h says.
//   I2  arrived_ counts all arrivals; an arrival that finds v belongs to episode v / count_, which
//       ends when the counter reaches the next multiple of count_. released_ follows arrived_ from
//       one such multiple to the next. Counters do not wrap (64 bits).
//   I3  Who sleeps has counted itself in sleepers_, executed a fence, and then found its episode
//       unfinished; who ends an episode executes a fence, then reads sleepers_. So one of the two
//       sees the other. (Two participants: an asymmetric pair of fences, machine.h.)
//   I4  sequence_ changes between the fence of who ends an episode and its wake-up call. Who reads
//       the new value before its own fence sees the end behind that; who read the old one is not
//       put to sleep by the kernel, or is woken.
//
// Memory order (each tag stands at its site below)
//   [N]  acq_rel RMW of arrived_: what each did before it arrived happens-before the last arrival,
//        and before whoever waits on arrived_ itself.
//   [R]  release store of released_ -- synchronizes with [A].
//   [A]  acquire load of the word that ends the episode.
//   [F]  the two fences of I3.
//   [X]  relaxed: hints; sleepers_ and sequence_, which the fences order (I3, I4).
//
// Checked by    tests/conformance/barrier_test.cpp, tests/check/barrier_check.cpp.
#pragma once

#include <syncopate/barriers/flag_pair.h>
#include <syncopate/barriers/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/adaptive.h>

#include <atomic>
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
      wake_sleepers();
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

  // Lets sleepers look whether they are called away.
  void wake_called() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // [F]
    wake_sleepers();
  }

 private:
  // Up to so many participants watch the counter itself: the last arrival then is the signal, which
  // saves a miss, and the others' arrivals disturb few. A prototype's best bound on two cores.
  static constexpr std::uint32_t few = 4;
  // Polls before the clock is asked: about a cache-line round trip between sockets.
  static constexpr int quick_polls = 16;

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
    wake_sleepers();
    return episode;
  }

  // Whether the one that we wait for cannot run while we do.
  [[nodiscard]] bool meets_on_one_processor(std::uint32_t participant) const noexcept {
    return processor_[1 - participant].load(std::memory_order_relaxed) ==  // [X]
           processor_[participant].load(std::memory_order_relaxed);        // [X]
  }

  template <class Ended>
  void wait_at(const std::atomic<std::uint64_t>& word, Ended ended, bool crowded) noexcept {
    if (!crowded && count_ == 2) flag_pair::let_arrive();
    if (ended(word.load(std::memory_order_acquire))) return;  // [A]
    if (!crowded) {
      for (int poll = 0; poll < quick_polls; ++poll) {
        machine::relax();
        if (ended(word.load(std::memory_order_acquire))) return;  // [A]
      }
    }
    wait_slow(word, ended, crowded);
  }

  void wake_sleepers() noexcept {
    if (count_ == 2) machine::light_fence();
    else std::atomic_thread_fence(std::memory_order_seq_cst);                         // [F]
    if (__builtin_expect(sleepers_.load(std::memory_order_relaxed) == 0, 1)) return;  // [X]
    sequence_.fetch_add(1, std::memory_order_relaxed);                                // [X]
    machine::wake(&sequence_, INT32_MAX);
  }

  template <class Ended>
  [[gnu::noinline, gnu::cold]] void wait_slow(const std::atomic<std::uint64_t>& word, Ended ended,
                                              bool crowded) noexcept {
    const std::uint64_t start = machine::ticks(), wake_latency = machine::wake_latency();
    const std::uint64_t expected = past_.expected();
    const waits::plan how =
        waits::choose({.expected = expected,
                       .wake_latency = wake_latency,
                       .alone = !machine::may_spin(),
                       .crowded = crowded,
                       .may_yield = true,
                       .monitor = machine::monitor_usable(),
                       .probe = expected > wake_latency && waits::history::probe()});
    const bool polled =
        how.first == waits::way::yield
            ? waits::yield_until(word, ended, how.limit)
            : how.first != waits::way::park && waits::poll_by(how, word, ended, start + how.limit);
    if (!polled) sleep_until(word, ended);
    (void)word.load(std::memory_order_acquire);  // [A]
    const std::uint64_t took = machine::ticks() - start;
    const std::uint64_t length = polled ? took : took - (took < wake_latency ? took : wake_latency);
    past_.note(length, wake_latency);
  }

  template <class Ended>
  void sleep_until(const std::atomic<std::uint64_t>& word, Ended ended) noexcept {
    sleepers_.fetch_add(1, std::memory_order_relaxed);  // [X]
    for (;;) {
      const std::uint32_t seen = sequence_.load(std::memory_order_relaxed);  // [X]
      const bool sees_us = fence_before_sleep();
      if (ended(word.load(std::memory_order_relaxed))) break;  // [X]
      if (sees_us) machine::park(sequence_, seen);
      else machine::yield();
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);  // [X]
  }

  // Only flags need the asymmetric pair: there each participant ends the other's wait. Else only
  // the last to arrive pays for the fence; a heavy one by each sleeper would cost far more.
  bool fence_before_sleep() noexcept {
    if (count_ == 2) return machine::heavy_fence();
    std::atomic_thread_fence(std::memory_order_seq_cst);  // [F]
    return true;
  }

  const std::uint32_t count_;
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<unsigned> processor_[2]{machine::no_processor,
                                      machine::no_processor};  // of two; where each last arrived
  flag_pair flags_;
  counter arrived_, released_;
  alignas(128) waits::history past_;
  std::atomic<std::uint32_t> sequence_{0};
};

}  // namespace syncopate
