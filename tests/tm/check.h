// check.h -- how the programs of this folder fail: one line, and status 1.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::_Exit(1);                                                                     \
    }                                                                                    \
  } while (false)

// The seed of a stress test: SYNCOPATE_SEED, else a fixed one. Printed, so that a run can be
// repeated.
inline unsigned seed() {
  static const unsigned value = [] {
    const char* const text = std::getenv("SYNCOPATE_SEED");
    const unsigned chosen = text != nullptr ? static_cast<unsigned>(std::atol(text)) : 42;
    std::printf("SYNCOPATE_SEED=%u\n", chosen);
    return chosen;
  }();
  return value;
}

// A small random generator (xorshift), one per thread.
class dice {
 public:
  explicit dice(unsigned thread) : state_(seed() * 2654435761u + thread * 40503u + 1) {}
  unsigned operator()(unsigned below) {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return static_cast<unsigned>(state_ >> 20) % below;
  }

 private:
  unsigned long state_;
};
