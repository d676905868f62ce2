// What locks for machines of several nodes claim, on a machine of two nodes with two processors
// each: hand-over within the node, a bound on how often a waiter is overtaken, memory.
// run: SYNCOPATE_MACHINE=test-4c
#include <syncopate/locks/cna_lock.h>
#include <syncopate/locks/hmcs_lock.h>
#include <syncopate/locks/mcs_lock.h>
#include <syncopate/locks/reciprocating_lock.h>
#include <syncopate/machine.h>
#include <syncopate/wait/spin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "together.h"

extern "C" void syncopate_work(std::uint64_t cycles);

namespace {

using namespace syncopate;

constexpr unsigned threads = 4;
constexpr std::uint64_t sections = 4'000;  // of each thread

using counts = std::array<std::uint64_t, threads>;

struct result {
  std::uint64_t within_node = 0;
  std::uint64_t overtaken = 0;         // at most, by sections of others during one wait
  std::uint64_t overtaken_by_one = 0;  // at most, by sections of one other thread
};

template <class Lock>
result measure() {
  static Lock lock;
  alignas(128) static counts done;  // guarded by lock
  static unsigned last_node = 0;    // guarded by lock
  static unsigned last_thread = 0;  // guarded by lock
  static result all;                // guarded by lock
  run_together(threads, [](unsigned index) {
    counts before{};
    for (std::uint64_t i = 0; i < sections; ++i) {
      lock.lock();
      // Before is what this thread saw at the end of its last section, so that what has come since
      // is at least what came while it waited. The first section's past is not known.
      std::uint64_t others = 0, most = 0;
      for (unsigned t = 0; t < threads; ++t) {
        if (t == index || i == 0) continue;
        others += done[t] - before[t];
        most = std::max(most, done[t] - before[t]);
      }
      all.overtaken = std::max(all.overtaken, others);
      all.overtaken_by_one = std::max(all.overtaken_by_one, most);
      if (machine::node() == last_node && index != last_thread) ++all.within_node;
      last_node = machine::node();
      last_thread = index;
      ++done[index];
      before = done;
      syncopate_work(100);
      lock.unlock();
    }
  });
  return all;
}

template <class Lock>
void show(const char* name, std::uint64_t bound, std::uint64_t bound_by_one) {
  const result got = measure<Lock>();
  std::printf("%-13s %2zu bytes; %2llu %% of hand-overs within the node; overtaken %s, %s\n", name,
              sizeof(Lock),
              static_cast<unsigned long long>(100 * got.within_node / (threads * sections)),
              got.overtaken <= bound ? "as seldom as claimed" : "TOO OFTEN",
              got.overtaken_by_one <= bound_by_one ? "by one thread, too" : "TOO OFTEN BY ONE");
}

}  // namespace

int main() {
  constexpr std::uint64_t fifo = threads - 1, away = cna_lock<>::max_local + 2 * threads;
  show<mcs_lock<>>("mcs", fifo, 1);
  show<cna_lock<>>("cna", away, away);
  show<reciprocating_lock<>>("reciprocating", 2 * fifo, 2);
  constexpr std::uint64_t half = hmcs_lock<>::max_local + 2 * threads;
  show<hmcs_lock<>>("hmcs", half, half);
}
