// symmetric.h -- the earlier steps of others whose order with a thread's step matters (search.h).
#pragma once

#include "trace.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace syncopate::explored {

class symmetric_steps {
 public:
  // 1 + a step of each thread; 0: none.
  using last_of_each = std::array<std::uint32_t, max_threads>;

  void clear() noexcept { count_ = 0; }

  // Those of so many threads, but one.
  void add(const last_of_each& steps, unsigned threads, thread_index but) noexcept {
    for (unsigned t = 0; t < threads; ++t)
      if (t != but && steps[t] != 0) add(steps[t]);
  }

  [[nodiscard]] const std::uint32_t* data() const noexcept { return all_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  // Each once: for two reasons is no other order.
  void add(std::uint32_t step) noexcept {
    auto* const end = all_.data() + count_;
    if (std::find(all_.data(), end, step) == end) all_[count_++] = step;
  }

  std::array<std::uint32_t, 5 * max_threads> all_{};
  std::size_t count_ = 0;
};

}  // namespace syncopate::explored
