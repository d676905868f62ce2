// parts.h -- what the barriers are made of: a counter that all of a group arrive at, and the
// word that ends an episode for all who watch it.
//
// Space         arrival_counter 64 B; episode 64 B and its strategy's state.
//
// Memory order (each tag stands at its site below)
//   [N]  acq_rel RMW of a counter: what each did before it arrived happens-before the last arrival.
//   [R]  release store (or exchange) of the episode by the last -- synchronizes with [A].
//   [A]  acquire load of the episode: what all did before happens-before what we do after.
//   [X]  relaxed: ordered by [N] and [A]; or the episode before our own arrival, which cannot
//        change meanwhile; or a hint.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace syncopate {

// Counts down the arrivals of one episode; the last to arrive sets it up for the next.
class alignas(64) arrival_counter {
 public:
  // Sets the number of arrivals per episode. Requires: nobody arrives meanwhile.
  void expect(std::uint32_t arrivals) noexcept {
    expected_ = arrivals;
    missing_.store(arrivals, std::memory_order_relaxed);  // [X]
  }

  // Arrives `arrivals` times. `leaves`: one of them is the last of its participant, and is expected
  // no more. Returns whether the caller is the last; it then goes on before anybody arrives again.
  [[nodiscard]] bool arrive(bool leaves = false, std::uint32_t arrivals = 1) noexcept {
    if (leaves) leaving_.fetch_add(1, std::memory_order_relaxed);                           // [X]
    if (missing_.fetch_sub(arrivals, std::memory_order_acq_rel) != arrivals) return false;  // [N]
    if (const std::uint32_t left = leaving_.load(std::memory_order_relaxed); left != 0) {   // [X]
      expected_ -= left;
      leaving_.store(0, std::memory_order_relaxed);  // [X]
    }
    missing_.store(expected_, std::memory_order_relaxed);  // [X]
    return true;
  }

  // Requires: all have arrived, and nobody does again yet. `arrivals`: how many will.
  void check_set([[maybe_unused]] std::uint32_t arrivals) const noexcept {
    assert(expected_ == arrivals);
    assert(missing_.load(std::memory_order_relaxed) == arrivals);  // [X]
    assert(leaving_.load(std::memory_order_relaxed) == 0);         // [X]
  }
  [[nodiscard]] std::uint32_t expected() const noexcept { return expected_; }

  // Whether nobody will arrive any more. Requires: the caller was the last.
  [[nodiscard]] bool is_deserted() const noexcept { return expected_ == 0; }

 private:
  std::atomic<std::uint32_t> missing_{0};
  std::atomic<std::uint32_t> leaving_{0};
  std::uint32_t expected_ = 0;  // written by the last to arrive only
};

// The number of the episode, and those who wait for its end.
template <class Wait>
class alignas(64) episode {
 public:
  using token = std::uint32_t;

  // A strategy that can make use of it learns how many the participants are.
  explicit episode(std::uint32_t participants) noexcept {
    if constexpr (requires { wait_.set_team(participants); }) wait_.set_team(participants);
  }

  // To be read before one's own arrival, for wait_past().
  [[nodiscard]] token current() const noexcept {
    return number(word_.load(std::memory_order_relaxed));  // [X]
  }

  // A hint: only wait_past() makes what came before the others' arrival visible.
  [[nodiscard]] bool is_past(token old) const noexcept {
    return number(word_.load(std::memory_order_relaxed)) != old;  // [X]
  }

  void wait_past(token old) noexcept {
    wait_.until(
        word_, std::memory_order_acquire,  // [A]
        [old](std::uint32_t now) { return number(now) != old; }, parked);
  }

  // Lets all go on. Uses the address only after that.
  void end() noexcept {
    const std::uint32_t next = current() + step;
    if constexpr (Wait::parks) {
      const void* const address = &word_;
      if ((word_.exchange(next, std::memory_order_release) & parked) != 0)  // [R]
        machine::wake(address, INT32_MAX);
    } else {
      word_.store(next, std::memory_order_release);  // [R]
    }
  }

 private:
  static constexpr std::uint32_t parked = 1, step = 2;
  static token number(std::uint32_t value) noexcept { return value & ~parked; }

  std::atomic<std::uint32_t> word_{0};
  // What a strategy writes is not on the line that all watch.
  static constexpr std::size_t wait_alignment = std::is_empty_v<Wait> ? 1 : 64;
  alignas(wait_alignment) [[no_unique_address]] Wait wait_;
};

}  // namespace syncopate
