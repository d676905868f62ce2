// A late thread at a barrier: who arrived early runs ahead, and finds the next phase's data in its
// cache. Nothing that was done ahead is seen.
// run: SYNCOPATE_MACHINE=test-4c
#include <syncopate/barriers/central_barrier.h>
#include <syncopate/barriers/speculating_barrier.h>

#include <cstdint>
#include <cstdio>
#include <thread>

extern "C" void syncopate_work(std::uint64_t cycles);

namespace {

namespace machine = syncopate::machine;

constexpr unsigned lines = 64;
alignas(4096) volatile long memory[2][lines * 8];
long counted = 0;  // by the early thread, once a phase

// Returns how long the early thread took for the phase after the barrier.
template <class Barrier>
std::uint64_t second_phase(unsigned which) {
  Barrier barrier(2);
  std::uint64_t took = 0;
  counted = 0;
  std::thread late([&] {
    syncopate_work(20'000);
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
  });
  barrier.arrive_and_wait();
  const std::uint64_t before = machine::ticks();
  ++counted;
  for (unsigned i = 0; i < lines; ++i) (void)memory[which][i * 8];
  took = machine::ticks() - before;
  barrier.arrive_and_wait();
  late.join();
  return took;
}

}  // namespace

int main() {
  using namespace syncopate;
  const auto without = second_phase<central_barrier<waits::spin>>(0);
  std::printf("central: phase counted %ld time\n", counted);
  const auto ahead = second_phase<speculating_barrier<waits::spin>>(1);
  std::printf("speculating: phase counted %ld time\n", counted);
  std::printf("the early thread's next phase: %u cycles, after running ahead %u\n",
              static_cast<unsigned>(without), static_cast<unsigned>(ahead));
}
