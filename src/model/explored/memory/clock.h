// clock.h -- vector clocks of the explored machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace syncopate::explored {

// Threads that one execution may have, main included. Vector clocks have this many entries.
inline constexpr unsigned max_threads = 16;

using thread_index = std::uint8_t;
using thread_set = std::uint16_t;  // one bit a thread
static_assert(max_threads <= 16);

struct clock {
  std::array<std::uint32_t, max_threads> at{};

  void join(const clock& other) noexcept {
    for (unsigned i = 0; i < max_threads; ++i) at[i] = std::max(at[i], other.at[i]);
  }
  [[nodiscard]] bool includes(const clock& other) const noexcept {
    for (unsigned i = 0; i < max_threads; ++i)
      if (other.at[i] > at[i]) return false;
    return true;
  }
  // Whether what `thread` did at `time` is in the past that this clock describes.
  [[nodiscard]] bool covers(thread_index thread, std::uint32_t time) const noexcept {
    return time <= at[thread];
  }
};

}  // namespace syncopate::explored
