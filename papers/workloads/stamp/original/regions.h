// regions.h -- how long a STAMP program's parallel regions take: from the first thread that enters
// one to the last that leaves it, together. The programs print times of their own, some of them to
// a millisecond only.
#pragma once

#include <atomic>
#include <cstdint>

#include "../../common.h"

namespace workloads::stamp {

class regions {
 public:
  // Requires: `thread` is the thread's number in the program. With a seed above 1 it begins a
  // little later, as threads of the other workloads do.
  void enter(std::uint64_t seed, std::uint32_t thread) {
    if (inside_.fetch_add(1) == 0) began_.store(machine::now());
    compute(start_delay(seed, thread));
  }
  void leave() {
    const std::uint64_t now = machine::now();
    if (inside_.fetch_sub(1) == 1) nanoseconds_.fetch_add(now - began_.load());
  }
  [[nodiscard]] double seconds() const { return static_cast<double>(nanoseconds_.load()) * 1e-9; }

 private:
  std::atomic<int> inside_{0};
  std::atomic<std::uint64_t> began_{0}, nanoseconds_{0};
};

}  // namespace workloads::stamp
