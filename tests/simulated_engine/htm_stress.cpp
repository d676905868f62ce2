// Elided locks over plain data, a std::map and a stack that is shared: nothing is lost or torn, on
// twice as many threads as processors.
// run: SYNCOPATE_MACHINE=haswell-4c8t
#include "transactions.h"

#include <atomic>
#include <cstdio>
#include <map>

#include "together.h"

namespace {

namespace machine = syncopate::machine;

constexpr unsigned threads = 16, rounds = 300, accounts = 256;
constexpr long initial = 1000;
constexpr unsigned char lock_was_held = 255;

alignas(64) std::atomic<int> fallback{0};
alignas(64) long account[accounts];
std::map<unsigned, unsigned> tree;
int inserted = 0;

template <class Work>
void atomically(Work work) {
  constexpr int tries = 5;
  for (int i = 0; i < tries; ++i) {
    machine::wait_until(fallback, std::memory_order_acquire, [](int held) { return held == 0; });
    const htm::status s = attempt([&] {
      if (fallback.load(std::memory_order_relaxed) != 0) htm::abort<lock_was_held>();
      work();
    });
    if (s.started()) return;
    if (!s.may_retry && s.code != lock_was_held) break;
  }
  while (fallback.exchange(1, std::memory_order_acquire) != 0) machine::relax();
  work();
  fallback.store(0, std::memory_order_release);
}

}  // namespace

int main() {
  for (long& a : account) a = initial;
  unsigned torn = 0;
  long done = 0;  // on main's stack
  run_together(threads, [&](unsigned me) {
    unsigned random = me * 7919 + 13;
    for (unsigned i = 0; i < rounds; ++i) {
      random = random * 1103515245 + 12345;
      const unsigned from = random >> 8 & 255, to = random >> 16 & 255;
      switch (random >> 5 & 3) {
        case 0:
        case 1:
          atomically([&] {
            account[from] -= 7;
            account[to] += 7;
          });
          break;
        case 2: {
          long sum = 0;
          atomically([&] {
            sum = 0;
            for (const long a : account) sum += a;
          });
          torn += sum != initial * accounts;
          break;
        }
        case 3:
          atomically([&] {
            if (tree.erase(from) != 0) {
              --inserted;
            } else {
              tree[from] = to;
              ++inserted;
            }
          });
      }
      atomically([&] { ++done; });
    }
  });
  long sum = 0;
  for (const long a : account) sum += a;
  std::printf("sum %ld of %ld, %u torn sums, %ld rounds of %u, %d more in the map than counted\n",
              sum, initial * accounts, torn, done, threads * rounds,
              static_cast<int>(tree.size()) - inserted);
}
