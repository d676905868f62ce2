// More threads than processors: everybody gets a share, holders lose their processor, affinity.
// run: SYNCOPATE_MACHINE=test-4c
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/locks/ticket_lock.h>
#include <syncopate/wait/yield.h>

#include <algorithm>
#include <cstdio>

#include <sched.h>

#include "together.h"

namespace {

namespace machine = syncopate::machine;

constexpr std::uint64_t slice = 100'000;  // cycles, of test-4c

// Twice as many threads as processors compute for ten slices each.
void shares() {
  const std::uint64_t cycles = run_together(8, [](unsigned) {
    const std::uint64_t begun = machine::ticks();
    std::uint64_t worked = 0, before = begun;
    while (worked < 10 * slice) {
      machine::spin(10);
      const std::uint64_t now = machine::ticks();
      worked += std::min<std::uint64_t>(now - before, 1000);  // time without a processor is longer
      before = now;
    }
  });
  const double ideal = 20 * slice;
  std::printf("8 threads of 10 slices on 4 processors: %s\n",
              static_cast<double>(cycles) < 1.15 * ideal && static_cast<double>(cycles) >= ideal
                  ? "20 slices and the switches"
                  : "another time");
}

// A waiter spins for a lock whose holder is preempted: the longest wait is as long as a slice.
void preempted_holder() {
  syncopate::tatas_lock<> lock;
  std::uint64_t longest = 0;
  unsigned count = 0;
  run_together(8, [&](unsigned) {
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t before = machine::ticks();
      lock.lock();
      const std::uint64_t waited = machine::ticks() - before;
      longest = std::max(longest, waited);
      machine::spin(30);
      ++count;
      lock.unlock();
      machine::spin(30);
    }
  });
  std::printf("a spin lock with 8 threads: %u rounds, the longest wait %s a slice\n", count,
              longest > slice ? "over" : "under");
}

// Two threads on one processor alternate by yielding.
void yields() {
  unsigned turns = 0, switches = 0, last = 9;
  std::uint64_t cycles = run_together(2, [&](unsigned me) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(3, &only);
    sched_setaffinity(0, sizeof only, &only);
    for (int i = 0; i < 50; ++i) {
      ++turns;
      switches += last != me;
      last = me;
      if (machine::processor() != 3) std::printf("on processor %u!\n", machine::processor());
      sched_yield();
    }
  });
  std::printf("yielding on one processor: %u turns, %s; %s\n", turns,
              switches > 90 ? "by turns" : "not by turns",
              cycles < slice * 2 ? "without waiting for slices" : "slowly");
}

// A FIFO lock whose waiters yield, with eight threads for each processor: those that are far from
// their turn do not keep the processor until their slice ends.
template <class Lock>
std::uint64_t cycles_per_section(unsigned threads) {
  static Lock lock;
  static std::uint64_t count = 0;  // guarded by lock
  const std::uint64_t cycles = run_together(threads, [](unsigned) {
    const std::uint64_t end = machine::ticks() + 200 * slice;
    while (machine::ticks() < end) {
      lock.lock();
      ++count;
      machine::spin(5);
      lock.unlock();
    }
  });
  return cycles / count;
}

void queue_of_yielders() {
  using namespace syncopate;
  const std::uint64_t yielding = cycles_per_section<ticket_lock<waits::yield>>(32);
  const std::uint64_t spinning = cycles_per_section<ticket_lock<waits::spin>>(32);
  std::printf("ticket, 32 threads on 4 processors: a section takes %s as with spinning waiters\n",
              2 * yielding < spinning ? "less than half as long" : "NEARLY AS LONG");
}

}  // namespace

int main() {
  shares();
  preempted_holder();
  queue_of_yielders();
  yields();
}
