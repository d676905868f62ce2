// Loops that poll by hand: they sleep like wait_until() and wake as soon; loops with a bound end.
// run: SYNCOPATE_MACHINE=test-4c
#include <syncopate/machine.h>

#include <atomic>
#include <cstdio>

#include "together.h"

namespace {

namespace machine = syncopate::machine;

// Cycles by which a reader notices late, on average, that a word changes now and then. Before the
// first change it polls for so long that its loop sleeps from then on.
template <class Read>
void notice(const char* what, Read wait_for) {
  alignas(128) static std::atomic<unsigned> word;
  static std::uint64_t written[16];
  word = 0;
  std::uint64_t late = 0;
  run_together(2, [&](unsigned me) {
    for (unsigned i = 0; i <= 10; ++i) {
      if (me == 0) {
        wait_for(word, i + 1);
        if (i != 0) late += machine::ticks() - written[i];
      } else {
        machine::spin(i == 0 ? 400'000 : 20'000);
        written[i] = machine::ticks();
        word.store(i + 1, std::memory_order_release);
      }
    }
  });
  std::printf("%s: %u cycles late\n", what, static_cast<unsigned>(late / 10));
}

// Gives up after so many polls, and then asks for what it waits for.
unsigned bounded(unsigned polls) {
  alignas(128) std::atomic<int> asked{0}, given{0};
  unsigned made = 0;
  run_together(2, [&](unsigned me) {
    if (me == 0) {
      while (made < polls && given.load(std::memory_order_acquire) == 0) {
        machine::relax();
        asm volatile("" : "+r"(made));
        ++made;
      }
      asked = 1;
      while (given.load(std::memory_order_acquire) == 0) machine::relax();
    } else {
      machine::wait_until(asked, std::memory_order_acquire, [](int a) { return a == 1; });
      given = 1;
    }
  });
  return made;
}

}  // namespace

int main() {
  notice("wait_until", [](std::atomic<unsigned>& word, unsigned value) {
    machine::wait_until(word, std::memory_order_acquire,
                        [value](unsigned v) { return v == value; });
  });
  notice("atomic loop", [](std::atomic<unsigned>& word, unsigned value) {
    while (word.load(std::memory_order_acquire) != value) machine::relax();
  });
  notice("volatile loop", [](std::atomic<unsigned>& word, unsigned value) {
    const auto& plain = reinterpret_cast<const volatile unsigned&>(word);
    while (plain != value) {
    }
  });
  for (const unsigned polls : {50u, 1000u, 1000u})
    std::printf("a loop of %u polls: %u polls\n", polls, bounded(polls));
  std::printf("a loop of 3000 polls ends: %s\n", bounded(3000) == 3000 ? "yes" : "no");
}
