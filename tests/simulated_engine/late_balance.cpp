// `auto` where the kernel queues a woken thread on its last processor, behind whoever runs there,
// though another processor is idle, and looks for idle ones only every 4 ms. One that was called to
// be the successor may then come late; were nobody else woken meanwhile, all but two threads would
// sleep, and half of the machine with them. Against glibc's lock, each of whose waiters is woken by
// the next release.
// run: SYNCOPATE_MACHINE=@dir@/late-balance.toml
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/futex_lock.h>
#include <syncopate/machine.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "together.h"

extern "C" void syncopate_work(std::uint64_t cycles);

namespace {

using namespace syncopate;

constexpr std::uint64_t duration = 300'000'000;  // cycles: 100 ms

struct workload {
  unsigned threads;
  std::uint64_t inside, outside;  // cycles; outside: on average, from 0 to twice that
};

template <class Lock>
double sections_in_a_million_cycles(const workload& w) {
  static Lock lock;
  struct alignas(128) count {
    std::uint64_t sections = 0;
  };
  std::vector<count> each(w.threads);
  const std::uint64_t took = run_together(w.threads, [&](unsigned index) {
    std::uint64_t random = index, done = 0;
    const std::uint64_t end = machine::ticks() + duration;
    while (machine::ticks() < end) {
      lock.lock();
      ++done;
      syncopate_work(w.inside);
      lock.unlock();
      random = random * 6364136223846793005u + 1442695040888963407u;
      syncopate_work((random >> 33) % (2 * w.outside + 1));
    }
    each[index].sections = done;
  });
  double all = 0;
  for (const count& one : each) all += static_cast<double>(one.sections);
  return 1e6 * all / static_cast<double>(took);
}

void compare(const workload& w) {
  const double ours = sections_in_a_million_cycles<auto_lock>(w),
               glibcs = sections_in_a_million_cycles<futex_lock>(w);
  std::printf("%2u threads, %4llu cycles in, %5llu out: %s\n", w.threads,
              static_cast<unsigned long long>(w.inside), static_cast<unsigned long long>(w.outside),
              ours > 0.9 * glibcs ? "nine tenths of glibc's throughput or more"
                                  : "LESS than nine tenths of glibc's throughput");
}

}  // namespace

int main() {
  for (const unsigned threads : {8, 32}) {
    compare({threads, 2'000, 20'000});
    compare({threads, 8'000, 24'000});
    compare({threads, 8'000, 8'000});
  }
}
