// A loop has given up, and is begun anew by the same call with the same values: what has come since
// is found there.
// Expect: 1 failed check: .*found_in
#include <atomic>
#include <cassert>
#include <thread>

namespace {
std::atomic<int> flag;
constexpr int rounds = 2, turns = 8;
}  // namespace

int main() {
  std::thread other([] { flag.store(1); });
  int found_in = -1;
  for (int round = 0; round < rounds && found_in < 0; ++round)
    for (int turn = 0; turn < turns && found_in < 0; ++turn) {
      if (flag.load() != 0) found_in = round;
      std::this_thread::yield();
    }
  assert(found_in != rounds - 1);
  other.join();
}
