// As looks_limited.cpp, with as many looks as there are turns.
// Expect: 1 failed check: .*found_in
// Options: looks=6
#include <atomic>
#include <cassert>
#include <thread>

namespace {
std::atomic<int> flag;
constexpr int turns = 6;
}  // namespace

int main() {
  std::thread other([] { flag.store(1); });
  int found_in = -1;
  for (int turn = 0; turn < turns && found_in < 0; ++turn) {
    if (flag.load() != 0) found_in = turn;
    std::this_thread::yield();
  }
  assert(found_in != turns - 1);
  other.join();
}
