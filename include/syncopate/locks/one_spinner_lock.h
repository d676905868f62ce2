// one_spinner_lock.h -- FIFO lock on which at most one waiter polls the lock itself.
//
// Source        Akkan, Lang & Ionkov, LA-UR-13-26575, section III-A.3, algorithm 2 ("1spinner").
//               How we deviate: 32 bits each for thread and generation (the paper: 8; other locks
//               advance the generation, too, so that it wraps around); numbers for threads come
//               from node_pool; a thread that follows itself waits as well, so that another thread
//               may do the unlock. try_lock() is ours.
// Fairness      FIFO; bypass bound 0.
// Space         16 B per lock; one 64 B monitor per thread, for all locks together.
// Uncontended   lock 1 RMW + 2 loads + 2 stores; unlock 1 store; two cache lines.
// Contended     O(1) misses per hand-off: the holder's release is seen by one poller; taking the
//               lock wakes one waiter, who polls from then on.
//
// State
//   tail_     who came last: number of its monitor (0 nobody yet), and the monitor's generation
//   head_     the holder's monitor number, 0 if nobody holds the lock
//   monitor   generation: how often its thread has acquired a lock of this kind
//
// Invariants
//   I1  A thread advances its generation exactly once per acquisition, after it has set head_.
//   I2  A thread that found {p, g} in tail_ is p's only successor for that acquisition: while p's
//       generation is g, p waits or is about to set head_.
//   I3  head_ goes from 0 to a number only by the thread whose predecessor in line has set it and
//       released; so at most one waiter polls it.
//   I4  A monitor's generation only grows, whoever uses it: one that was given back and taken
//       again never shows an old generation (below 2^32 acquisitions between two looks).
//
// Memory order (each tag stands at its site below)
//   [R]  release store of head_ in unlock -- synchronizes with [A].
//   [A]  acquire load of head_ that finds the predecessor gone: the previous critical section
//        happens-before ours.
//   [E]  acq_rel exchange of tail_: what the predecessor did before it came (its monitor's
//        generation) is seen by us; ours by the successor. try_lock() acquires by its load: values
//        of tail_ are unique (I1), so its RMW finds the same one.
//   [G]  release store of our generation -- synchronizes with [W]: the successor then finds our
//        number in head_, or the 0 that we left there, never an older value.
//   [W]  acquire load of the predecessor's generation.
//   [X]  relaxed: our own monitor, head_ before [G] publishes it, hints and failed attempts.
//
// Checked by    tests/conformance (exclusion, FIFO order, every strategy).
#pragma once

#include <syncopate/locks/node_pool.h>
#include <syncopate/locks/traits.h>
#include <syncopate/machine.h>
#include <syncopate/wait/all.h>

#include <atomic>
#include <cstdint>

namespace syncopate {

template <class Wait = waits::monitor>
class one_spinner_lock {
  static_assert(!Wait::parks, "nobody would wake the sleeper");

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
    const std::uint32_t generation = now_of(me).load(std::memory_order_relaxed);  // [X]
    const std::uint64_t before =
        tail_.exchange(pack(me, generation), std::memory_order_acq_rel);  // [E]
    if (before != 0) {
      const std::uint32_t predecessor = number_of(before);
      Wait::until(
          now_of(predecessor), std::memory_order_acquire,  // [W]
          [old = generation_of(before)](std::uint32_t now) { return now != old; }, 0);
      machine::wait_until(head_, std::memory_order_acquire,  // [A]
                          [predecessor](std::uint32_t holder) { return holder != predecessor; });
    }
    take(me, generation);
  }

  // Returns whether the lock was free and is now held. Wait-free.
  [[nodiscard]] bool try_lock() noexcept {
    std::uint64_t before = tail_.load(std::memory_order_acquire);  // [E]
    if (before != 0) {
      if (now_of(number_of(before)).load(std::memory_order_acquire) ==
          generation_of(before))  // [W]
        return false;
      if (head_.load(std::memory_order_acquire) != 0) return false;  // [A]
    }
    const std::uint32_t me = my_number();
    const std::uint32_t generation = now_of(me).load(std::memory_order_relaxed);  // [X]
    // The one that came last has acquired and released; if it still is the last, the lock is free.
    if (!tail_.compare_exchange_strong(before, pack(me, generation),
                                       std::memory_order_release,   // [E]
                                       std::memory_order_relaxed))  // [X]
      return false;
    take(me, generation);
    return true;
  }

  // Requires: the calling thread holds the lock.
  void unlock() noexcept { head_.store(0, std::memory_order_release); }  // [R]

  // Whether some thread holds the lock or is about to; a hint. A transaction that reads false has
  // subscribed: whoever comes next exchanges tail_, which aborts it. (head_ alone would not do: it
  // is set by a plain store, which may become visible after the holder's first reads.)
  [[nodiscard]] bool is_locked() const noexcept {
    const std::uint64_t last = tail_.load(std::memory_order_relaxed);  // [X]
    if (last == 0) return false;
    return now_of(number_of(last)).load(std::memory_order_relaxed) == generation_of(last) ||  // [X]
           head_.load(std::memory_order_relaxed) != 0;                                        // [X]
  }

  // Whether somebody waits; a hint. Requires: the calling thread holds the lock.
  [[nodiscard]] bool contended() const noexcept {
    return number_of(tail_.load(std::memory_order_relaxed)) !=  // [X]
           head_.load(std::memory_order_relaxed);               // [X]
  }

 private:
  struct monitor {
    std::atomic<std::uint32_t> generation;
  };
  using pool = node_pool<monitor>;
  using generation_word = std::atomic<std::uint32_t>;

  static constexpr std::uint64_t pack(std::uint32_t number, std::uint32_t generation) noexcept {
    return std::uint64_t{number} << 32 | generation;
  }
  static constexpr std::uint32_t number_of(std::uint64_t tail) noexcept {
    return static_cast<std::uint32_t>(tail >> 32);
  }
  static constexpr std::uint32_t generation_of(std::uint64_t tail) noexcept {
    return static_cast<std::uint32_t>(tail);
  }
  static generation_word& now_of(std::uint32_t number) noexcept {
    return pool::at(number).generation;
  }

  // The holder enters its name and lets its successor begin to poll (I1).
  void take(std::uint32_t me, std::uint32_t generation) noexcept {
    head_.store(me, std::memory_order_relaxed);                   // [X]
    now_of(me).store(generation + 1, std::memory_order_release);  // [G]
  }

  static std::uint32_t my_number() noexcept {
    const std::uint32_t number = own_number;
    return __builtin_expect(number != 0, 1) ? number : claim_number();
  }

  // A thread keeps its monitor until it ends. One that locks once more after that, in a destructor
  // of a thread-local object, takes a second one, which is lost.
  [[gnu::noinline, gnu::cold]] static std::uint32_t claim_number() noexcept {
    struct return_at_exit {
      ~return_at_exit() {
        pool::give_back(own_number);
        own_number = 0;
      }
    };
    own_number = pool::take();
    static thread_local return_at_exit registered;
    return (void)&registered, own_number;
  }

  static inline thread_local constinit std::uint32_t own_number = 0;

  std::atomic<std::uint64_t> tail_{0};
  std::atomic<std::uint32_t> head_{0};
};

}  // namespace syncopate
