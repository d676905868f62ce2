// `auto` where threads spend as much time outside of sections as inside, or more, on two
// processors: who finds the lock held polls, for the lock and a processor would be idle while it
// slept; and who sleeps must not starve for that. Against glibc's lock, which sleeps at once, and
// against one whose waiters poll before they sleep, and may starve.
// run: SYNCOPATE_MACHINE=small-2c
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/futex_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/machine.h>
#include <syncopate/wait/spin_then_park.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "together.h"

extern "C" void syncopate_work(std::uint64_t cycles);

namespace {

using namespace syncopate;

constexpr std::uint64_t duration = 60'000'000;  // cycles: 20 ms

struct workload {
  unsigned threads;
  std::uint64_t inside, outside;  // cycles; outside: on average, from 0 to twice that
};

struct alignas(128) result {
  std::uint64_t sections = 0, longest_wait = 0;
};

template <class Lock>
result measure(const workload& w) {
  static Lock lock;
  result each[8];
  const std::uint64_t took = run_together(w.threads, [&](unsigned index) {
    result& mine = each[index];
    std::uint64_t random = index;
    const std::uint64_t end = machine::ticks() + duration;
    for (std::uint64_t asked = machine::ticks(); asked < end; asked = machine::ticks()) {
      lock.lock();
      mine.longest_wait = std::max(mine.longest_wait, machine::ticks() - asked);
      ++mine.sections;
      syncopate_work(w.inside);
      lock.unlock();
      random = random * 6364136223846793005u + 1442695040888963407u;
      syncopate_work((random >> 33) % (2 * w.outside + 1));
    }
  });
  result all;
  for (const result& one : each) {
    all.sections += one.sections;
    all.longest_wait = std::max(all.longest_wait, one.longest_wait);
  }
  all.sections = all.sections * duration / took;
  return all;
}

void compare(const workload& w) {
  const result ours = measure<auto_lock>(w), futex = measure<futex_lock>(w),
               tatas = measure<tatas_lock<waits::spin_then_park>>(w);
  const auto over = [&](const result& other) {
    return static_cast<double>(ours.sections) / static_cast<double>(other.sections);
  };
  // A waiter that was called and is queued behind one who runs is overtaken for some of its slices,
  // of 3 ms; tatas' sleepers for more than 6 of them.
  const bool starves = ours.longest_wait > std::max<std::uint64_t>(futex.longest_wait, 30'000'000);
  std::printf(
      "%u threads, %4llu cycles in, %4llu out: %.1f of glibc's throughput, %.1f of tatas, %s\n",
      w.threads, static_cast<unsigned long long>(w.inside),
      static_cast<unsigned long long>(w.outside), over(futex), over(tatas),
      starves ? "LONG WAITS" : "no wait above glibc's and 10 ms");
}

}  // namespace

int main() {
  for (const unsigned threads : {2, 4, 8}) {
    compare({threads, 300, 300});
    compare({threads, 3'000, 3'000});
    compare({threads, 300, 3'000});
    compare({threads, 3'000, 9'000});
  }
}
