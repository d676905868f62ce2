// A test-and-test-and-set lock as in a textbook, without a pause in its loops.
// Expect: 0 passed: .* 0 cut
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<int> held{0};
int count = 0;

void lock() {
  for (;;) {
    while (held.load(std::memory_order_relaxed) != 0) continue;
    if (held.exchange(1, std::memory_order_acquire) == 0) return;
  }
}
void unlock() { held.store(0, std::memory_order_release); }

int main() {
  const auto body = [] {
    lock();
    ++count;
    unlock();
  };
  std::thread first(body), second(body), third(body);
  first.join();
  second.join();
  third.join();
  assert(count == 3);
}
