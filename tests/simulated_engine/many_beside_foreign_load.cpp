// Eight threads of one mutex beside two programs that never rest, on two processors. Single lengths
// of sections differ by chance (docs/internals/preemption.md): what counts is the sum over several,
// 120 ms each. Where each thread learns by itself that yields cost it a slice, `auto` does a fifth
// of glibc's sections here; where the process learns it, three fifths.
// run: SYNCOPATE_MACHINE=small-2c SYNCOPATE_FOREIGN_LOAD=2 SYNCOPATE_FOREIGN_BUSY=3000
// run: SYNCOPATE_FOREIGN_REST=1
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/futex_lock.h>
#include <syncopate/machine.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "together.h"

extern "C" void syncopate_work(std::uint64_t cycles);

namespace {

using namespace syncopate;

constexpr unsigned threads = 8;
constexpr std::uint64_t duration = 360'000'000;

struct result {
  std::uint64_t sections = 0, longest_wait = 0;
};

template <class Lock>
void measure(std::uint64_t inside, result& sum) {
  static Lock lock;
  result each[threads];
  run_together(threads, [&](unsigned index) {
    result& mine = each[index];
    const std::uint64_t end = machine::ticks() + duration;
    for (std::uint64_t asked = machine::ticks(); asked < end; asked = machine::ticks()) {
      lock.lock();
      mine.longest_wait = std::max(mine.longest_wait, machine::ticks() - asked);
      ++mine.sections;
      syncopate_work(inside);
      lock.unlock();
    }
  });
  for (const result& one : each) {
    sum.sections += one.sections;
    sum.longest_wait = std::max(sum.longest_wait, one.longest_wait);
  }
}

}  // namespace

int main() {
  result futex, own;
  for (const std::uint64_t inside : {200, 220, 250, 300, 350, 400}) {
    measure<syncopate::futex_lock>(inside, futex);
    measure<syncopate::auto_lock>(inside, own);
  }
  std::printf(
      "auto: %s glibc's sections, %s longest wait\n",
      5 * own.sections >= 2 * futex.sections ? "two fifths or more of" : "LESS THAN TWO FIFTHS OF",
      own.longest_wait <= futex.longest_wait ? "at most its" : "A LONGER");
}
