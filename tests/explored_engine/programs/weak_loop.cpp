// A loop around a weak compare-exchange that fails without a cause is no livelock.
// Expect: 0 passed:
#include <atomic>
#include <cassert>
#include <thread>

int main() {
  std::atomic<int> count{0};
  const auto body = [&] {
    int seen = count.load(std::memory_order_relaxed);
    while (!count.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) continue;
  };
  std::thread other(body);
  body();
  other.join();
  assert(count.load() == 2);
}
