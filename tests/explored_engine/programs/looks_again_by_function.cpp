// As looks_again, but that a function of its own looks, once in the loop and once behind it.
// Expect: 1 failed check: .*has_come
#include <atomic>
#include <cassert>
#include <thread>

namespace {
std::atomic<int> flag;

[[gnu::noinline]] bool is_there() { return flag.load() != 0; }

bool waits_a_while() {
  for (int turn = 0; turn < 3; ++turn) {
    if (is_there()) return true;
    std::this_thread::yield();
  }
  return false;
}
}  // namespace

int main() {
  std::thread other([] { flag.store(1); });
  if (!waits_a_while()) {
    const bool has_come = is_there();
    assert(!has_come);
  }
  other.join();
}
