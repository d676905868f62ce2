// Both threads may miss the other's store.
// Expect: 1 failed check: .*Assertion .*first . second.*
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<int> x{0}, y{0};
int first = 0, second = 0;

int main() {
  std::thread other([] {
    x.store(1, std::memory_order_relaxed);
    first = y.load(std::memory_order_relaxed);
  });
  y.store(1, std::memory_order_relaxed);
  second = x.load(std::memory_order_relaxed);
  other.join();
  assert(first + second != 0);
}
