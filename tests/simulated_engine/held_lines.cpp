// Threads that want one line: the core that has it goes on until the request is there, and for
// a while after the line has arrived. Those who wait get it in turn.
// run: SYNCOPATE_MACHINE=@dir@/held-lines.toml
#include <algorithm>
#include <cstdio>

#include "together.h"

namespace {

constexpr unsigned rounds = 300;

// The time of one addition, and how many of them a core makes in a row.
void add(unsigned threads) {
  alignas(128) std::atomic<unsigned> counter{0};
  std::vector<std::vector<unsigned>> seen(threads, std::vector<unsigned>(rounds));
  const std::uint64_t cycles = run_together(threads, [&](unsigned me) {
    for (unsigned& one : seen[me]) one = counter.fetch_add(1, std::memory_order_relaxed);
  });
  unsigned hand_overs = 0, last = 0;
  for (const auto& mine : seen) {
    for (unsigned i = 1; i < rounds; ++i) hand_overs += mine[i] != mine[i - 1] + 1;
    last = std::max(last, mine.back());
  }
  // All wait alike: nobody ends long before the others.
  unsigned spread = 0;
  for (const auto& mine : seen) spread = std::max(spread, last - mine.back());
  std::printf("%u threads add: %llu cycles each, %u in a row, the first is %u additions ahead\n",
              threads, static_cast<unsigned long long>(cycles / (threads * rounds)),
              threads * rounds / std::max(hand_overs, 1u), spread);
}

// A reader polls while the writer counts: it sees fewer numbers than there are.
void watch() {
  alignas(128) std::atomic<unsigned> counter{0};
  unsigned numbers = 0;
  run_together(2, [&](unsigned me) {
    if (me == 0) {
      for (unsigned i = 0; i < rounds; ++i) counter.store(i + 1, std::memory_order_release);
      return;
    }
    for (unsigned known = 0; known != rounds; ++numbers)
      known = syncopate::machine::wait_until(counter, std::memory_order_acquire,
                                             [known](unsigned now) { return now != known; });
  });
  std::printf("a poller sees %u of %u stores\n", numbers, rounds);
}

}  // namespace

int main() {
  for (const unsigned threads : {1u, 2u, 3u, 4u}) add(threads);
  watch();
}
