// random_lengths.h -- lengths that are drawn, the same in each run with the same seeds.
#pragma once

#include <cmath>
#include <cstdint>

struct random_numbers {
  std::uint64_t state;
  std::uint64_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 20;
  }
  double fraction() { return static_cast<double>(next() % 1'000'000 + 1) / 1'000'000; }
};

enum class spread { exponential, uniform, fixed, two };

// A length around `mean`; `two`: nine of ten a half, the tenth five and a half.
inline double draw(random_numbers& random, double mean, spread how) {
  switch (how) {
    case spread::fixed: return mean;
    case spread::uniform: return 2 * mean * random.fraction();
    case spread::two: return random.next() % 10 == 0 ? 5.5 * mean : 0.5 * mean;
    default: return -std::log(random.fraction()) * mean;
  }
}
