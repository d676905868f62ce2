// random_numbers.h -- random numbers with a seed, the same on every machine.
#pragma once

#include <cstdint>

namespace workloads {

// Marsaglia's xorshift64*: small, and the same on every machine.
class random_numbers {
 public:
  random_numbers(std::uint64_t seed, std::uint64_t thread)
      : state_((seed * 0x9e3779b97f4a7c15u) ^ ((thread + 1) * 0xbf58476d1ce4e5b9u)) {
    if (state_ == 0) state_ = 1;
    for (int i = 0; i < 8; ++i) (void)below(2);
  }
  // A number in [0, bound).
  std::uint64_t below(std::uint64_t bound) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(state_ * 0x2545f4914f6cdd1du) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace workloads
