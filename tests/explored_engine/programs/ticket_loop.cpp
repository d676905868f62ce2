// A ticket lock whose loop has no pause. Each order of the threads is one execution.
// Expect: 0 passed: .* 0 cut
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<unsigned> next{0}, serving{0};
int count = 0;

int main() {
  const auto body = [] {
    const unsigned mine = next.fetch_add(1, std::memory_order_relaxed);
    while (serving.load(std::memory_order_acquire) != mine) continue;
    ++count;
    serving.store(mine + 1, std::memory_order_release);
  };
  std::thread first(body), second(body), third(body);
  first.join();
  second.join();
  third.join();
  assert(count == 3);
}
