// overflow.h -- for the programs of this folder whose transactions overflow by their own accesses.
//
// Such a transaction must end at that very access: if it were rolled back and went on for a while,
// what it wrote then would stay, and what others wrote meanwhile would be lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "together.h"
#include "transactions.h"

inline constexpr unsigned all_lines = 256;
struct alignas(64) counter {
  std::uint64_t value = 0;
};
alignas(1 << 14) inline counter counters[all_lines];
alignas(1 << 14) inline volatile std::uint64_t other_lines[all_lines * 8];

// Prints how work() ends as a transaction, and what is left of its writes to the counters.
template <class Work>
void print_attempt(const char* what, Work work) {
  for (counter& c : counters) c.value = 0;
  const htm::status s = attempt(work);
  unsigned left = 0;
  for (const counter& c : counters) left += c.value != 0;
  std::printf("%s: %s, %u counters written\n", what, text(s), left);
}

// Three threads call work(round), which adds one to `each` of the counters: in a transaction, or
// under a lock where that aborts. Prints how many of the additions are missing.
template <class Work>
void print_lost(const char* what, unsigned each, Work work) {
  constexpr unsigned threads = 3, rounds = 60;
  namespace machine = syncopate::machine;
  for (counter& c : counters) c.value = 0;
  static std::atomic<int> lock{0};
  static std::atomic<unsigned> overflows;
  overflows = 0;
  run_together(threads, [&](unsigned me) {
    for (unsigned round = 0; round < rounds; ++round) {
      machine::spin((13 * me + 7 * round) % 64);  // else all but the first meet a conflict
      machine::wait_until(lock, std::memory_order_acquire, [](int held) { return held == 0; });
      const htm::status s = attempt([&] {
        if (lock.load(std::memory_order_relaxed) != 0) htm::abort<1>();
        work(round);
      });
      if (s.started()) continue;
      if (s.why == htm::cause::capacity) overflows.fetch_add(1);
      while (lock.exchange(1, std::memory_order_acquire) != 0) machine::relax();
      work(round);
      lock.store(0, std::memory_order_release);
    }
  });
  std::uint64_t sum = 0;
  for (const counter& c : counters) sum += c.value;
  std::printf("%s: %s overflowed, %lld of %u additions lost\n", what,
              overflows != 0 ? "some" : "none",
              static_cast<long long>(threads * rounds * each) - static_cast<long long>(sum),
              threads * rounds * each);
}
