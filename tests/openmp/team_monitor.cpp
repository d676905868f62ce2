// team_monitor.cpp -- waiting=monitor of the OpenMP library's barriers
// (products/openmp/teams/team_wait.h): with real instructions, executed by monitor_emulator.h in
// place of the processor, two threads meet at a barrier, and one that sleeps on its word is called
// away.
#include <syncopate/barriers/central_barrier.h>

#include <cassert>
#include <cstdio>
#include <thread>

#if defined(__x86_64__)
#include "openmp/team_member.h"
#include "unit/monitor_emulator.h"

namespace {

using namespace syncopate;
using namespace syncopate::openmp;
using machine::monitor_family;

struct shared {
  team in;
  std::atomic<std::uint32_t> word{0};
  central_barrier<team_wait> barrier{2};
};

void wait_milliseconds(unsigned count) {
  const std::uint64_t until = machine::ticks() + machine::ticks_per_second() / 1000 * count;
  while (machine::ticks() < until) machine::yield();
}

// Whether whoever comes late finds the other asleep on the word, which it then wakes.
void meet(bool asleep_on_monitor) {
  shared s;
  int data = 0;
  constexpr int rounds = 50;
  monitor_emulator::reset_counts();
  std::thread other([&] {
    const member m(s.in, 1);
    for (int i = 1; i <= rounds; ++i) {
      s.barrier.arrive_and_wait(1);
      assert(data == i);
      s.barrier.arrive_and_wait(1);
    }
  });
  {
    const member m(s.in, 0);
    for (int i = 1; i <= rounds; ++i) {
      wait_milliseconds(1);
      data = i;
      s.barrier.arrive_and_wait(0);
      s.barrier.arrive_and_wait(0);
    }
  }
  other.join();
  assert((monitor_emulator::woken != 0) == asleep_on_monitor);
}

// A mark of the phase is no store to the word: it is seen when the sleep is over.
void call_away() {
  shared s;
  std::thread other([&] {
    const member m(s.in, 1);
    (void)team_wait::until(
        s.word, std::memory_order_acquire, [](std::uint32_t now) { return now != 0; }, 0);
  });
  wait_milliseconds(2);
  s.in.task_phase.store(1, std::memory_order_release);
  wake_sleepers(s.in);
  other.join();
  assert(s.word.load() == 0);
}

void test(monitor_family family) {
  machine::use_monitor(family);
  config.wait = waiting::monitor;
  const monitor_emulator::scope here;
  meet(true);
  call_away();
  assert(monitor_emulator::waits != 0);
}

}  // namespace

int main() {
  machine::prepare_asymmetric_fences();
  test(monitor_family::waitpkg);
  test(monitor_family::monitorx);
  // Without the instructions it polls.
  machine::use_monitor(monitor_family::polling);
  config.wait = waiting::monitor;
  meet(false);
  call_away();
  std::puts("team_monitor: all hold");
}
#else
int main() {}
#endif
