// Waiting by monitor: what entering and waking cost at each depth, and that the power differs.
// run: SYNCOPATE_MACHINE=test-4c
#include <syncopate/machine.h>

#include <atomic>
#include <cstdio>

#include "together.h"

namespace {

namespace machine = syncopate::machine;

enum class how { spin, light, deep };

// Cycles from a store to the end of the wait on another core, which began long before.
std::uint64_t latency(how waits) {
  alignas(128) std::atomic<std::uint64_t> word{0};
  std::uint64_t seen = 0, written = 0;
  run_together(2, [&](unsigned me) {
    if (me == 0) {
      const auto changed = [](std::uint64_t v) { return v != 0; };
      if (waits == how::spin) machine::wait_until(word, std::memory_order_acquire, changed);
      else
        machine::monitor_wait(
            word, std::memory_order_acquire, changed,
            waits == how::light ? machine::sleep_depth::light : machine::sleep_depth::deep);
      seen = machine::ticks();
    } else {
      machine::spin(1000);
      written = machine::ticks();
      word.store(1, std::memory_order_release);
    }
  });
  return seen - written;
}

// A deadline ends a wait that nobody ends.
std::uint64_t overdue() {
  std::atomic<int> word{0};
  const std::uint64_t until = machine::ticks() + 50'000;
  const bool held = machine::wait_until(
      word, std::memory_order_acquire, [](int v) { return v != 0; }, until);
  const std::uint64_t late = machine::ticks() - until;
  return held ? 1'000'000 : late;
}

}  // namespace

int main() {
  std::printf("spin   %4u cycles from the store to the end of the wait\n",
              static_cast<unsigned>(latency(how::spin)));
  std::printf("light  %4u cycles\n", static_cast<unsigned>(latency(how::light)));
  std::printf("deep   %4u cycles\n", static_cast<unsigned>(latency(how::deep)));
  std::printf("a deadline ends a wait %u cycles late\n", static_cast<unsigned>(overdue()));
}
