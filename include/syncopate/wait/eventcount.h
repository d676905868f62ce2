// eventcount.h -- how a team's threads wait for any condition over a word, and how whoever
// makes it true finds those that sleep: spins, yields or sleeps by experience (plan.h).
//
// Source        Reed & Kanodia, CACM 22(2), 1979 (eventcounts). How we deviate: who signals reads
//               whether anybody sleeps, and calls the kernel only then; asymmetric fences make that
//               read free where one side is far more frequent.
// Space         40 B.
//
// Invariants
//   I1  Who sleeps has counted itself in sleepers_, executed a fence, and then found its condition
//       false; who signals has made it true, executes a fence, then reads sleepers_. So one of the
//       two sees the other.
//   I2  sequence_ changes between a signal's fence and its wake-up call. Who reads the new value
//       before its own fence sees the condition behind that; who read the old one is not put to
//       sleep by the kernel, or is woken.
//
// Memory order (each tag stands at its site below)
//   [A]  acquire load of the word, of what was stored before it changed.
//   [F]  the two fences of I1.
//   [X]  relaxed: sleepers_ and sequence_, which the fences order (I1, I2); signaled_, price_ and
//        long_in_a_row_ are hints.
//
// Checked by    tests/check/barrier_check.cpp, tests/check/fork_join_check.cpp.
#pragma once

#include <syncopate/machine.h>
#include <syncopate/wait/adaptive.h>
#include <syncopate/wait/competition.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace syncopate::waits {

// Which fences: `light` where one thread sleeps, and each sleep may cost 2 microseconds more and
// interrupt the others, so that signals cost nothing; requires
// machine::prepare_asymmetric_fences().
enum class fences : unsigned char { light, full };

class eventcount {
 public:
  explicit eventcount(fences kind) noexcept : kind_(kind) {}

  // Returns when ended(word) holds, after which it has to hold until the waiter acts. `crowded`:
  // whom it waits for has no processor, as far as one can tell.
  template <class Ended>
  void wait(const std::atomic<std::uint64_t>& word, Ended ended, bool crowded) noexcept {
    if (ended(word.load(std::memory_order_acquire))) return;  // [A]
    if (__builtin_expect(others.is_there(), 0)) return sleep_beside_others(word, ended);
    if (!crowded && !all_are_long()) {
      for (std::uint32_t left = machine::polls(quick_steps); left != 0; --left) {
        machine::relax();
        if (ended(word.load(std::memory_order_acquire))) return was_short();  // [A]
      }
    }
    wait_slow(word, ended, crowded);
  }

  // To be called after the condition was made true.
  void signal() noexcept {
    if (kind_ == fences::light) machine::light_fence();                               // [F]
    else std::atomic_thread_fence(std::memory_order_seq_cst);                         // [F]
    if (__builtin_expect(sleepers_.load(std::memory_order_relaxed) == 0, 1)) return;  // [X]
    signaled_.store(machine::ticks(), std::memory_order_relaxed);                     // [X]
    sequence_.fetch_add(1, std::memory_order_relaxed);                                // [X]
    machine::wake(&sequence_, INT32_MAX);
  }

 private:
  // Steps of polling before the clock is asked: what a barrier takes or, natively, the way from one
  // region to the next.
  static constexpr std::uint32_t quick_steps = machine::is_modeled ? 16 : 64;
  // As measure_wake_latency() has it: what took longer was something else.
  static constexpr std::uint64_t most_wakes = 5;
  // After so many waits that were worth a sleep the next one is not polled for at first, and but
  // rarely at all: a short one among them tells so itself (note_sleep), at the price of one sleep.
  static constexpr std::uint32_t many = 16;
  static constexpr std::uint32_t rarely = 128;

  template <class Ended>
  [[gnu::noinline, gnu::cold]] void wait_slow(const std::atomic<std::uint64_t>& word, Ended ended,
                                              bool crowded) noexcept {
    const std::uint64_t start = machine::ticks(), expected = past_.expected();
    // Twice: whom we wait for may be asleep itself, and comes after a sleep's price. If that made
    // us sleep, all would do so from then on for no other reason.
    const std::uint64_t worth_polling = 2 * price();
    const plan how = choose(
        {.expected = expected,
         .wake_latency = worth_polling,
         .alone = !machine::may_spin(),
         .crowded = crowded,
         .may_yield = true,
         .monitor = machine::monitor_usable(),
         .probe = expected > worth_polling &&
                  (all_are_long() && !crowded ? machine::now_and_then(rarely) : history::probe())});
    const bool polled = how.first == way::yield ? yield_until(word, ended, how.limit)
                                                : how.first != way::park &&
                                                      poll_by(how, word, ended, start + how.limit);
    if (polled && ended(word.load(std::memory_order_acquire))) {  // [A]
      past_.note(machine::ticks() - start, worth_polling);
      was_short();
    } else {
      sleep_until(word, ended);
      (void)word.load(std::memory_order_acquire);  // [A]
      note_sleep(start, worth_polling);
      others.took(machine::ticks() - start);
    }
  }

  // Nothing is noted: such waits tell nothing of those that come when the others are gone.
  template <class Ended>
  [[gnu::noinline, gnu::cold]] void sleep_beside_others(const std::atomic<std::uint64_t>& word,
                                                        Ended ended) noexcept {
    sleep_until(word, ended);
    (void)word.load(std::memory_order_acquire);  // [A]
  }

  [[nodiscard]] bool all_are_long() const noexcept {
    return long_in_a_row_.load(std::memory_order_relaxed) >= many;  // [X]
  }
  // Stores only when it changes something: the line is read by all.
  void was_long() noexcept {
    const std::uint32_t before = long_in_a_row_.load(std::memory_order_relaxed);     // [X]
    if (before < many) long_in_a_row_.store(before + 1, std::memory_order_relaxed);  // [X]
  }
  void was_short() noexcept {
    if (__builtin_expect(long_in_a_row_.load(std::memory_order_relaxed) != 0, 0))  // [X]
      long_in_a_row_.store(0, std::memory_order_relaxed);                          // [X]
  }

  // What a sleep costs here, in ticks.
  [[nodiscard]] std::uint64_t price() const noexcept {
    return std::max(machine::wake_latency(), price_.load(std::memory_order_relaxed));  // [X]
  }

  // The wait lasted until the signal, not until that was heard: 40 microseconds later on a virtual
  // machine (*measured*), by which short waits would pass for long ones as long as all sleep.
  void note_sleep(std::uint64_t start, std::uint64_t worth_polling) noexcept {
    const std::uint64_t end = signaled_.load(std::memory_order_relaxed);  // [X]
    if (end <= start) return was_short(), past_.note(1, worth_polling);
    past_.note(end - start, worth_polling);
    if (end - start < worth_polling) was_short();
    else was_long();
    // A thread that has to wait for a processor besides tells nothing of the sleep.
    const std::uint64_t heard =
        std::min(machine::ticks() - end, most_wakes * machine::wake_latency());
    const std::uint64_t before = price();
    price_.store(before - before / 8 + heard / 8, std::memory_order_relaxed);  // [X]
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

  [[nodiscard]] bool fence_before_sleep() const noexcept {
    if (kind_ == fences::light) return machine::heavy_fence();  // [F]
    std::atomic_thread_fence(std::memory_order_seq_cst);        // [F]
    return true;
  }

  const fences kind_;
  std::atomic<std::uint32_t> sleepers_{0}, sequence_{0};
  std::atomic<std::uint64_t> signaled_{0};  // ticks of the last signal that woke
  std::atomic<std::uint64_t> price_{0};     // mean of what sleeps cost; 0: none was seen
  history past_;
  std::atomic<std::uint32_t> long_in_a_row_{0};  // up to `many` waits worth a sleep
};

}  // namespace syncopate::waits
