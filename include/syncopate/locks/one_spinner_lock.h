// one_spinner_lock.h -- FIFO lock on which at most one waiter polls the lock itself.
//
// Source        Akkan, Lang & Ionkov, LA-UR-13-26575, section III-A.3, algorithm 2 ("1spinner").
//               How we deviate: 32 bits for the holder, 12 for the last thread's number and 20 for
//               its generation (the paper: 16, 8 and 8; other locks advance the generation, too, so
//               that it wraps around); numbers for threads come from node_pool; a thread that
//               follows itself waits as well, so that another thread may do the unlock. Strategies
//               that park wake their sleeper. try_lock() is ours.
// Fairness      FIFO; bypass bound 0.
// Space         8 B per lock (with the strategy adaptive 16 B); one 64 B monitor per thread, for
//               all locks together.
// Uncontended   lock 6 loads + 1 RMW + 2 stores (parking: 6 loads + 2 RMWs + 1 store); unlock
//               1 store (parking: 1 RMW); three cache lines. With monitor 1 load of a line more.
// Contended     O(1) misses per hand-off: the holder's release is seen by one poller; taking the
//               lock wakes one waiter, who polls from then on.
//
// State
//   tail_     who came last: number of its monitor (12 bits, 0 nobody yet), and the monitor's
//             generation (20 bits)
//   head_     the holder's monitor number, 0 if nobody holds the lock; bit 31: somebody sleeps
//   monitor   generation: how often its thread has acquired a lock of this kind; bit 31 as above
//
// Invariants
//   I1  A thread advances its generation exactly once per acquisition, after it has set head_.
//   I2  A thread that found {p, g} in tail_ is p's only successor for that acquisition: while p's
//       generation is g, p waits or is about to set head_.
//   I3  head_ goes from 0 to a number only by the thread whose predecessor in line has set it and
//       released; so at most one waiter polls it.
//   I4  A monitor's generation only grows, whoever uses it: one that was given back and taken
//       again never shows an old generation. (It wraps around: a waiter that does not run while
//       its predecessor acquires locks of this kind exactly n * 2^20 times waits for one more.)
//   I5  At most 4094 threads use locks of this kind at once; one more ends the process.
//
// Memory order (each tag stands at its site below)
//   [R]  release store (or exchange) of head_ in unlock -- synchronizes with [A].
//   [A]  acquire load of head_ that finds the predecessor gone: the previous critical section
//        happens-before ours.
//   [E]  acq_rel exchange of tail_: what the predecessor did before it came (its monitor's
//        generation) is seen by us; ours by the successor. try_lock() acquires by its load: values
//        of tail_ are unique (I1), so its RMW finds the same one.
//   [G]  release store (or exchange) of our generation -- synchronizes with [W]: the successor
//        then finds our number in head_, or the 0 that we left there, never an older value.
//   [W]  acquire load of the predecessor's generation.
//   [X]  relaxed: our own monitor, head_ before [G] publishes it, hints and failed attempts.
//
// Checked by    tests/conformance (exclusion, FIFO order, every strategy),
//               tests/check/lock_check.cpp (explored with two and three threads). Not by
//               tests/posix.
#pragma once

#include <syncopate/locks/node_pool.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdlib>

#include <cxxabi.h>

extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace syncopate {

template <class Wait = waits::monitor>
class one_spinner_lock {
 public:
  static constexpr lock_traits traits{
      .fair = fairness::fifo,
      .collapses = true,
      .preload = false,  // a thread gives its monitor back in a C++ destructor
      .summary = "FIFO: the next in line polls the lock, the others watch their predecessors",
      .source = "Akkan, Lang & Ionkov 2013, algorithm 2"};

  // Blocks until the lock is held.
  void lock() noexcept {
    const std::uint32_t me = my_number();
    const std::uint32_t generation = generation_now(me, std::memory_order_relaxed);  // [X]
    const std::uint32_t before =
        tail_.exchange(pack(me, generation), std::memory_order_acq_rel);  // [E]
    if (before != 0) follow(before);
    take(me, generation);
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t before = tail_.load(std::memory_order_acquire);  // [E]
    if (before != 0) {
      if (generation_now(number_of(before), std::memory_order_acquire) ==  // [W]
          generation_of(before))
        return false;
      if (head_.load(std::memory_order_acquire) != 0) return false;  // [A]
    }
    const std::uint32_t me = my_number();
    const std::uint32_t generation = generation_now(me, std::memory_order_relaxed);  // [X]
    // The one that came last has acquired and released; if it still is the last, the lock is free.
    if (!tail_.compare_exchange_strong(before, pack(me, generation),
                                       std::memory_order_release,   // [E]
                                       std::memory_order_relaxed))  // [X]
      return false;
    take(me, generation);
    return true;
  }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept { set_and_wake(head_, 0); }  // [R]

  // Whether some thread holds the lock or is about to; a hint. A transaction that reads false has
  // subscribed: whoever comes next exchanges tail_, which aborts it. (head_ alone would not do: it
  // is set by a plain store, which may become visible after the holder's first reads.)
  [[nodiscard]] bool is_locked() const noexcept {
    const std::uint32_t last = tail_.load(std::memory_order_relaxed);  // [X]
    if (last == 0) return false;
    return generation_now(number_of(last), std::memory_order_relaxed) ==  // [X]
               generation_of(last) ||
           head_.load(std::memory_order_relaxed) != 0;  // [X]
  }

  // Whether somebody waits; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept {
    return number_of(tail_.load(std::memory_order_relaxed)) !=  // [X]
           (head_.load(std::memory_order_relaxed) & ~parked);   // [X]
  }

  // Requires: the calling thread holds the lock.
  void check_invariants() const noexcept {
    [[maybe_unused]] const std::uint32_t name = head_.load(std::memory_order_relaxed);  // [X]
    assert((name & ~parked) != 0 && tail_.load(std::memory_order_relaxed) != 0);        // [X] I1
  }

 private:
  struct monitor {
    std::atomic<std::uint32_t> generation;
  };
  using pool = node_pool<monitor>;
  using generation_word = std::atomic<std::uint32_t>;

  static constexpr std::uint32_t parked = 1u << 31;
  static constexpr unsigned generation_bits = 20;
  static constexpr std::uint32_t generations = 1u << generation_bits;

  static constexpr std::uint32_t pack(std::uint32_t number, std::uint32_t generation) noexcept {
    return number << generation_bits | generation;
  }
  static constexpr std::uint32_t number_of(std::uint32_t tail) noexcept {
    return tail >> generation_bits;
  }
  static constexpr std::uint32_t generation_of(std::uint32_t tail) noexcept {
    return tail % generations;
  }
  static generation_word& now_of(std::uint32_t number) noexcept {
    return pool::at(number).generation;
  }
  static std::uint32_t generation_now(std::uint32_t number, std::memory_order order) noexcept {
    return now_of(number).load(order) & ~parked;  // [W] [X]
  }

  // Waits until the predecessor has acquired, then until it has released.
  void follow(std::uint32_t before) noexcept {
    const std::uint32_t predecessor = number_of(before), old = generation_of(before);
    wait_.until(
        now_of(predecessor), std::memory_order_acquire,  // [W]
        [old](std::uint32_t now) { return (now & ~parked) != old; }, parked);
    const auto has_released = [predecessor](std::uint32_t holder) {
      return (holder & ~parked) != predecessor;
    };
    // The one spinner; it does not sleep on a monitor, because its turn comes soon.
    if constexpr (Wait::parks)
      wait_.until(head_, std::memory_order_acquire, has_released, parked);     // [A]
    else machine::wait_until(head_, std::memory_order_acquire, has_released);  // [A]
  }

  static void set_and_wake(generation_word& word, std::uint32_t value) noexcept {
    if constexpr (Wait::parks) {
      const void* const address = &word;
      if ((word.exchange(value, std::memory_order_release) & parked) != 0)  // [R] [G]
        machine::wake(address, INT32_MAX);
    } else {
      word.store(value, std::memory_order_release);  // [R] [G]
    }
  }

  // The holder enters its name and lets its successor begin to poll (I1).
  void take(std::uint32_t me, std::uint32_t generation) noexcept {
    head_.store(me, std::memory_order_relaxed);                // [X]
    set_and_wake(now_of(me), (generation + 1) % generations);  // [G]
  }

  static std::uint32_t my_number() noexcept {
    const std::uint32_t number = own_number;
    return __builtin_expect(number != 0, 1) ? number : claim_number();
  }

  // A thread keeps its monitor until it ends. One that locks once more after that, in a destructor
  // of a thread-local object, takes another, and gives that back behind the destructor: so not by
  // an object of ours, which would be made, and end, once.
  [[gnu::noinline, gnu::cold]] static std::uint32_t claim_number() noexcept {
    own_number = pool::take();
    if (own_number >> (32 - generation_bits) != 0) std::abort();  // I5
    (void)abi::__cxa_thread_atexit(return_number, nullptr, &__dso_handle);
    return own_number;
  }
  static void return_number(void*) noexcept {
    pool::give_back(own_number);
    own_number = 0;
  }

  static inline thread_local constinit std::uint32_t own_number = 0;

  std::atomic<std::uint32_t> tail_{0};
  std::atomic<std::uint32_t> head_{0};
  [[no_unique_address]] Wait wait_;
};

}  // namespace syncopate
