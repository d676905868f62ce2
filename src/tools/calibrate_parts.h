// calibrate_parts.h -- what the microbenchmarks of calibrate.cpp and calibrate_pairs.cpp share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <syncopate/machine.h>

namespace syncopate::tools {

constexpr std::size_t line_bytes = 64;

// Alone in its pair of lines: the hardware fetches the other of a pair unasked.
struct alignas(2 * line_bytes) padded {
  std::atomic<std::uint32_t> word{0};
};

// Binds the calling thread to a processor.
void stay_on(int cpu);

// Requires: not empty. Reorders it.
double median(std::vector<double>&);

// A random cycle through the numbers below `count`: no prefetcher follows it. Returns: what comes
// after each.
std::vector<std::uint32_t> random_cycle(std::size_t count);

template <class Function>
double cycles_per(int count, Function function) {
  const std::uint64_t start = machine::ticks();
  function(count);
  return static_cast<double>(machine::ticks() - start) / count;
}

// ---- two processors (calibrate_pairs.cpp) -------------------------------------------------------

// Lines that one processor has modified, then read by another, which then modifies them, each
// access waiting for the one before.
struct line_visit {
  double read = 0;   // the transfer
  double write = 0;  // cheap only if the read took the line from its owner: coherence.migratory
};
line_visit visit_modified_lines(int owner, int visitor);

// Two processors add to one word as fast as they can.
struct contest {
  double addition = 0;   // cycles of one, of either
  double hand_over = 0;  // from one processor's first addition in a row to the other's
};
contest add_from_two(int one, int other);

// One thread sleeps on a word, another wakes it; both measure.
struct handover {
  double wake_call = 0;  // the waker's time in the call
  double latency = 0;    // from before the call until the sleeper runs
};
handover futex_handover(int waker, int sleeper);

}  // namespace syncopate::tools
