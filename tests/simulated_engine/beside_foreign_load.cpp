// Locks beside other programs that never rest: whoever is handed a lock may wait for a processor
// for slices, and all with it. Four threads and three foreign ones on two processors; sections of
// 200 cycles, nothing outside; each lock is used for 120 ms of simulated time, three times. Against
// glibc's lock, which is never handed over: its throughput is what can be had, its longest wait
// what must not be.
// run: SYNCOPATE_MACHINE=small-2c SYNCOPATE_FOREIGN_LOAD=3 SYNCOPATE_FOREIGN_BUSY=3000
// run: SYNCOPATE_FOREIGN_REST=1
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/futex_lock.h>
#include <syncopate/machine.h>
#include <syncopate/rwlocks/auto_rwlock.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "together.h"

extern "C" void syncopate_work(std::uint64_t cycles);

namespace {

using namespace syncopate;

constexpr unsigned threads = 4;
constexpr std::uint64_t duration = 360'000'000;

struct result {
  std::uint64_t sections = 0, longest_wait = 0;
};

struct readers_and_writers : auto_rwlock {};

// One section of `lock` by this thread's `turn`.
template <class Lock, class Section>
void use(Lock& lock, unsigned, Section section) {
  lock.lock();
  section();
  lock.unlock();
}
template <class Section>
void use(readers_and_writers& lock, unsigned turn, Section section) {
  if (turn % 4 == 0) return use<auto_rwlock>(lock, turn, section);
  lock.lock_shared();
  section();
  lock.unlock_shared();
}

template <class Lock>
result measure(std::uint64_t inside) {
  static Lock lock;
  result each[threads];
  run_together(threads, [&](unsigned index) {
    result& mine = each[index];
    const std::uint64_t end = machine::ticks() + duration;
    for (std::uint64_t asked = machine::ticks(); asked < end; asked = machine::ticks())
      use(lock, static_cast<unsigned>(mine.sections), [&] {
        mine.longest_wait = std::max(mine.longest_wait, machine::ticks() - asked);
        ++mine.sections;
        syncopate_work(inside);
      });
  });
  result all;
  for (const result& one : each) {
    all.sections += one.sections;
    all.longest_wait = std::max(all.longest_wait, one.longest_wait);
  }
  return all;
}

// Lengths that differ a little: other orders of events.
template <class Lock>
result measure() {
  result all;
  for (const std::uint64_t inside : {200, 203, 206}) {
    const result one = measure<Lock>(inside);
    all.sections += one.sections;
    all.longest_wait = std::max(all.longest_wait, one.longest_wait);
  }
  return all;
}

// `tenths` of glibc's throughput are wanted: half, but of `auto` two fifths. Its newcomers spin
// though a called waiter is late, which pays where kernels move that waiter late, as Linux does
// (docs/internals/auto-measured.md); this one moves it at once.
template <class Lock>
void compare(const char* name, const result& futex, unsigned tenths = 5) {
  const result got = measure<Lock>();
  std::printf("%s: %s 0.%u of glibc's throughput, %s longest wait\n", name,
              10 * got.sections >= tenths * futex.sections ? "at least" : "LESS THAN", tenths,
              got.longest_wait <= futex.longest_wait ? "at most its" : "A LONGER");
}

}  // namespace

int main() {
  const result futex = measure<futex_lock>();
  compare<auto_lock>("auto", futex, 4);
  compare<auto_rwlock>("auto_rwlock, writers alone", futex);
  compare<readers_and_writers>("auto_rwlock, three readers of four", futex);
}
