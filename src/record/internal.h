// internal.h -- what the parts of the recorder share: re-entry, the tiny lock, the clock rate.
//
// Parts (each one header and one source, lower ones first):
//   system    system calls, pages          file      the mapped file and its growth
//   unwind    walking a call stack         maps      snapshots of /proc/self/maps
//   stacks    interning of stacks          threads   per-thread state (budgets beside it)
//   objects   identities and counts        rows      rows and events (counts of sections beside it)
//   waits     their begin and end          tries     failed trylocks
//   releases  holds, gaps, who is woken    recorder  start, finish, fork
//   pointers  what variables point to: part of snapshots of maps, read from the objects above them
//
// Memory order (each tag stands at its site below)
//   [L]  acquire RMW that takes the lock -- synchronizes with [U]. A failed one's value says
//        nothing.
//   [U]  release RMW.
//   [F]  relaxed: the child of a fork has one thread.
//   [T]  relaxed: who has it last said so; what [U] has ordered before is seen by who fails at [L].
//   [C]  compiler barrier: for signals of this thread.
//   [W]  relaxed: a word that stands for itself; where more belongs to it, who calls says what
//        orders it.
//   [P]  release store of publish() -- synchronizes with who reads the file meanwhile, and is what
//        remains in order when the process is killed: first what is told of, then the word that
//        tells.
#pragma once

#include <atomic>
#include <cstdint>

#include <syncopate/machine.h>
#include <syncopate/machine/fast_tls.h>

#include "record/recorder.h"
#include "record/system.h"

namespace syncopate::record {

// Spin-then-futex lock for the rare paths that change shared tables.
// word: 0 free, 1 held, 2 held and somebody may sleep.
//
// lock() gives up after a second or two and returns false: a holder can vanish for good (a signal
// handler that jumps out of the recorder, a raw fork system call), and a recorder must not hang
// the program over it. Whoever gets false stops the recording. A holder that only lacks a
// processor, or was stopped with its process, has not vanished (tiny_lock.cpp).
class tiny_lock {
 public:
  [[nodiscard]] bool lock() noexcept {
    for (int i = 0; i < 100; ++i) {
      std::uint32_t free = 0;
      if (word_.compare_exchange_weak(free, 1, std::memory_order_acquire,  // [L]
                                      std::memory_order_relaxed))          // [L]
        return taken();
      machine::relax();
    }
    return lock_slow();
  }
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t free = 0;
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire,  // [L]
                                         std::memory_order_relaxed) &&        // [L]
           taken();
  }
  // Whoever takes it next may be long without a processor before it has said who it is: until then
  // nobody shall be taken for the holder who is none any more.
  void unlock() noexcept {
    holder_.store(holder_.load(std::memory_order_relaxed) & ~std::uint64_t{0xffff'ffff},  // [T]
                  std::memory_order_relaxed);                                             // [T]
    if (word_.exchange(0, std::memory_order_release) == 2) machine::wake(&word_, 1);      // [U]
  }
  // In the child of a fork: the holder may not exist there.
  void reset() noexcept {
    holder_.store(0, std::memory_order_relaxed);  // [F]
    word_.store(0, std::memory_order_relaxed);    // [F]
  }

 private:
  bool lock_slow() noexcept;  // tiny_lock.cpp
  bool taken() noexcept {
    const std::uint64_t times = (holder_.load(std::memory_order_relaxed) >> 32) + 1;  // [T]
    holder_.store(times << 32 | static_cast<std::uint32_t>(machine::self()),
                  std::memory_order_relaxed);  // [T]
    return true;
  }

  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::uint64_t> holder_{0};  // how often it was taken, and who says to have it
};

// Holds a tiny_lock for a scope; false when it could not be had.
class holding {
 public:
  explicit holding(tiny_lock& lock) noexcept : lock_(lock), held_(lock.lock()) {}
  ~holding() {
    if (held_) lock_.unlock();
  }
  holding(const holding&) = delete;
  holding& operator=(const holding&) = delete;
  explicit operator bool() const noexcept { return held_; }

 private:
  tiny_lock& lock_;
  const bool held_;
};

struct thread_state;

// All thread-local data of the recorder besides those of recorder.h: 16 bytes.
struct thread_local_data {
  thread_state* state = nullptr;
  bool inside = false;  // this thread executes recorder code: nested calls do nothing
  bool ended = false;   // thread_end() has run; later events of this thread are not recorded
  bool interpreter_calls = false;  // told.h
};
extern thread_local constinit thread_local_data local SYNCOPATE_FAST_TLS;

// Guards one entry into the recorder. False when recording is off, when this thread is inside the
// recorder already (an interposed call made by our own code, or a signal handler that interrupted
// it), or when the record file of a forked child cannot be made.
class entry {
 public:
  entry() noexcept;
  ~entry() {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // [C]
    if (entered_) local.inside = false;
  }
  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;
  explicit operator bool() const noexcept { return entered_ && usable_; }

 private:
  bool entered_;
  bool usable_ = false;
};

// Ticks of the cheap clock in one second and one millisecond; set by start().
extern constinit std::uint64_t ticks_per_second;
inline std::uint64_t milliseconds(std::uint64_t n) noexcept { return ticks_per_second / 1000 * n; }

// Relaxed access to a plain word that other threads change too.
template <class T>
T load(const T& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);  // [W]
}
template <class T, class V>
void store(T& word, V value) noexcept {
  __atomic_store_n(&word, static_cast<T>(value), __ATOMIC_RELAXED);  // [W]
}
template <class T, class V>
void add(T& word, V value) noexcept {
  __atomic_fetch_add(&word, static_cast<T>(value), __ATOMIC_RELAXED);  // [W]
}
// Order in which the contents of a chunk become visible to whoever reads the file after a crash.
template <class T, class V>
void publish(T& word, V value) noexcept {
  __atomic_store_n(&word, static_cast<T>(value), __ATOMIC_RELEASE);  // [P]
}

}  // namespace syncopate::record
