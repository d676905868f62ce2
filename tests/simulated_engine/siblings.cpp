// Hardware threads of one core slow each other down; waiting ones do so less, sleeping ones not.
// run: SYNCOPATE_MACHINE=haswell-4c8t
#include <syncopate/machine.h>

#include <atomic>
#include <cstdio>

#include <sched.h>

#include "together.h"

namespace {

namespace machine = syncopate::machine;

void pin(unsigned processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  sched_setaffinity(0, sizeof only, &only);
}

volatile long values[2][16];
std::atomic<int> over{0}, placed{0};

void compute(unsigned which) {
  for (unsigned i = 0; i < 20'000; ++i) values[which][i % 8] = i;
}

// Cycles for the same work on processor 0, while the thread on processor `other` does `work`.
template <class Work>
std::uint64_t beside(unsigned other, Work work) {
  std::uint64_t cycles = 0;
  over = placed = 0;
  run_together(2, [&](unsigned me) {
    pin(me == 0 ? 0 : other);
    ++placed;
    machine::wait_until(placed, std::memory_order_acquire, [](int n) { return n == 2; });
    if (me == 0) {
      const std::uint64_t before = machine::ticks();
      compute(0);
      cycles = machine::ticks() - before;
      over = 1;
    } else {
      work();
    }
  });
  return cycles;
}

const char* text(std::uint64_t cycles, std::uint64_t alone) {
  return cycles > alone + alone / 3    ? "much slower"
         : cycles > alone + alone / 20 ? "slower"
                                       : "as fast as alone";
}

}  // namespace

int main() {
  const auto done = [](int o) { return o != 0; };
  const std::uint64_t alone = beside(1, [] {});
  std::printf("beside another core that computes: %s\n",
              text(beside(1, [] { compute(1); }), alone));
  std::printf("beside a sibling that computes: %s\n", text(beside(4, [] { compute(1); }), alone));
  std::printf(
      "beside a sibling that spins: %s\n",
      text(beside(4, [&] { machine::wait_until(over, std::memory_order_acquire, done); }), alone));
  std::printf("beside a sibling that is idle: %s\n", text(beside(4, [] {}), alone));
}
