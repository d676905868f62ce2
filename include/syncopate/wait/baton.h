// baton.h -- the word on which exactly one waiter waits for its predecessor to let it go on.
//
// States     0 waiting -> [1 waiting, parked] -> 2 passed
// Memory     pass() releases, await() acquires: what the passer did happens-before what follows
//            the await. pass() touches the baton once; afterwards it uses the address only, since
//            the waiter may already have returned and its stack frame may be gone.
//
// Memory order (each tag stands at its site below)
//   [R]  release store or exchange in pass() -- synchronizes with [A].
//   [A]  acquire load in await().
//   [X]  relaxed: nobody knows the baton yet; what tells the passer of it orders this. Or a look
//        that decides nothing.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>

namespace syncopate::waits {

template <class Wait>
class baton {
 public:
  void reset() noexcept { state_.store(waiting, std::memory_order_relaxed); }  // [X]

  // Blocks until passed, by what the lock's strategy has learned.
  void await(Wait& wait) noexcept {
    wait.until(
        state_, std::memory_order_acquire,  // [A]
        [](std::uint32_t state) { return (state & passed) != 0; }, parked);
  }
  void await() noexcept {
    Wait wait;
    await(wait);
  }

  // For who checks invariants: what the passer did is not seen by that.
  [[nodiscard]] bool is_passed() const noexcept {
    return (state_.load(std::memory_order_relaxed) & passed) != 0;  // [X]
  }

  void pass() noexcept {
    if constexpr (Wait::parks) {
      const void* const address = &state_;
      if (state_.exchange(passed, std::memory_order_release) == parked)  // [R]
        machine::wake(address, 1);
    } else {
      state_.store(passed, std::memory_order_release);  // [R]
    }
  }

 private:
  enum : std::uint32_t { waiting = 0, parked = 1, passed = 2 };
  std::atomic<std::uint32_t> state_{waiting};
};

}  // namespace syncopate::waits
