// The price of a lock, in cycles, on 1 to 4 cores.
// run: SYNCOPATE_MACHINE=test-4c
#include <syncopate/locks/mcs_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/locks/ticket_lock.h>

#include <cstdio>

#include "together.h"

namespace {

template <class Lock>
void measure(const char* name) {
  constexpr unsigned rounds = 200;
  std::printf("%-7s", name);
  for (unsigned threads = 1; threads <= 4; ++threads) {
    alignas(128) Lock lock;
    alignas(128) unsigned counter = 0;
    const std::uint64_t cycles = run_together(threads, [&](unsigned) {
      for (unsigned i = 0; i < rounds; ++i) {
        lock.lock();
        ++counter;
        lock.unlock();
      }
    });
    std::printf(" %5u%s", static_cast<unsigned>(cycles / (threads * rounds)),
                counter == threads * rounds ? "" : " (not exclusive!)");
  }
  std::printf("\n");
}

}  // namespace

int main() {
  std::printf("cycles for lock, increment, unlock with 1 to 4 threads\n");
  measure<syncopate::tatas_lock<>>("tatas");
  measure<syncopate::ticket_lock<>>("ticket");
  measure<syncopate::mcs_lock<>>("mcs");
}
