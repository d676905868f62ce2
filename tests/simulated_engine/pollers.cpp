// `auto` where many processors are needed to keep a lock busy: were all waiters asleep but two, the
// lock would be idle while they woke up. Against glibc's lock, whose waiters all wake up at once.
// run: SYNCOPATE_MACHINE=sapphire-rapids-2s
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/futex_lock.h>
#include <syncopate/machine.h>

#include <cstdint>
#include <cstdio>

#include "together.h"

extern "C" void syncopate_work(std::uint64_t cycles);

namespace {

using namespace syncopate;

constexpr std::uint64_t duration = 6'000'000;              // cycles: 2 ms
constexpr std::uint64_t inside = 2'000, outside = 20'000;  // the latter on average
constexpr unsigned threads = 16;

template <class Lock>
double sections_in_a_million_cycles() {
  static Lock lock;
  std::uint64_t sections[threads] = {};
  const std::uint64_t took = run_together(threads, [&](unsigned index) {
    std::uint64_t random = index, done = 0;
    const std::uint64_t end = machine::ticks() + duration;
    while (machine::ticks() < end) {
      lock.lock();
      ++done;
      syncopate_work(inside);
      lock.unlock();
      random = random * 6364136223846793005u + 1442695040888963407u;
      syncopate_work((random >> 33) % (2 * outside + 1));
    }
    sections[index] = done;
  });
  double all = 0;
  for (const std::uint64_t done : sections) all += static_cast<double>(done);
  return 1e6 * all / static_cast<double>(took);
}

}  // namespace

int main() {
  const double ours = sections_in_a_million_cycles<auto_lock>(),
               glibcs = sections_in_a_million_cycles<futex_lock>();
  std::printf("%u threads: %s\n", threads,
              ours > 0.6 * glibcs ? "three fifths of glibc's throughput or more"
                                  : "LESS than three fifths of glibc's throughput");
}
