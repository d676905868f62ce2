// A loop has given up, and behind it the variable is looked at once more: what has come since is
// found there.
// Expect: 1 failed check: .*has_come
#include <atomic>
#include <cassert>
#include <thread>

namespace {
std::atomic<int> flag;

bool waits_a_while() {
  for (int turn = 0; turn < 3; ++turn) {
    if (flag.load() != 0) return true;
    std::this_thread::yield();
  }
  return false;
}
}  // namespace

int main() {
  std::thread other([] { flag.store(1); });
  if (!waits_a_while()) {
    const bool has_come = flag.load() != 0;
    assert(!has_come);
  }
  other.join();
}
