// lock_word.h -- the first part of auto_lock: the word of a normal mutex as glibc keeps it.
//
// Source        glibc's protocol (Drepper, "Futexes Are Tricky", 2011, "mutex2"). glibc's own code
//               (its condition variables, C11 threads) may run on the same word at any time.
// Space         4 B.
//
// Legal states
//   value          who sets it                          what it obliges to
//   free           the holder                           -
//   held           whoever finds the word free          release() goes to free, and wakes nobody
//   held_sleepers  whoever finds it free; a waiter,     release() goes to free, and its caller
//                  at any time; the holder              wakes one of those who wait
//
// Invariants
//   W1  The word is free exactly while no thread holds the lock, and no grant of it is under way.
//   W2  It is legal to set held_sleepers though nobody sleeps: a wake is then in vain. It is
//       illegal to go from held_sleepers to held: only through free. So whoever has set
//       held_sleepers, and found it not free, is seen by the next release().
//   W3  Nothing is touched after the release: the lock may be gone.
//
// Memory order (each tag stands at its site below)
//   [R]  release RMW to free -- synchronizes with [A].
//   [A]  acquire RMW that finds it free: the previous critical section happens-before ours.
//   [X]  relaxed: polls that decide only when to try [A]; the holder's own view.
//
// Checked by    tests/check/auto_parts_check.cpp (three threads, explored to the end).
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate::auto_parts {

class lock_word {
 public:
  enum value : std::uint32_t { free = 0, held = 1, held_sleepers = 2 };

  // Takes the lock as `as` if it is free. Wait-free.
  bool take(value as) noexcept {
    std::uint32_t expected = free;
    return word_.compare_exchange_strong(expected, as, std::memory_order_acquire,  // [A]
                                         std::memory_order_relaxed);               // [X]
  }

  // Takes the lock as held_sleepers, or makes the holder wake somebody. Returns whether it took it.
  bool take_or_mark() noexcept {
    return word_.exchange(held_sleepers, std::memory_order_acquire) == free;  // [A]
  }

  // Releases a lock that is held, and only held. Returns whether it was.
  bool release_held() noexcept {
    std::uint32_t expected = held;
    return word_.compare_exchange_strong(expected, free, std::memory_order_release,  // [R]
                                         std::memory_order_relaxed);                 // [X]
  }

  // Releases; calls prepare() once before, if somebody has to be woken. Returns whether.
  template <class Prepare>
  bool release(Prepare prepare) noexcept {
    bool is_prepared = false;
    std::uint32_t seen = word_.load(std::memory_order_relaxed);  // [X]
    do {
      if (seen == held_sleepers && !is_prepared) prepare(), is_prepared = true;
    } while (!word_.compare_exchange_weak(seen, free, std::memory_order_release,  // [R]
                                          std::memory_order_relaxed));            // [X]
    return seen == held_sleepers;
  }

  // Requires: the caller holds the lock.
  void mark() noexcept { word_.store(held_sleepers, std::memory_order_relaxed); }  // [X]

  // Hints, for all but the holder.
  [[nodiscard]] bool is_free() const noexcept { return look() == free; }
  [[nodiscard]] bool is_marked() const noexcept { return look() > held; }

  // Requires: the caller holds the lock (W1).
  void check_held() const noexcept {
    [[maybe_unused]] const std::uint32_t seen = look();
    assert(seen == held || seen == held_sleepers);
  }

  // Where waiters inside glibc's code sleep; an address only.
  [[nodiscard]] const void* futex() const noexcept { return &word_; }

 private:
  [[nodiscard]] std::uint32_t look() const noexcept {
    return word_.load(std::memory_order_relaxed);  // [X]
  }

  std::atomic<std::uint32_t> word_{free};
};

}  // namespace syncopate::auto_parts
