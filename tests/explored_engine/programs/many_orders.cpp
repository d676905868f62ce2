// More executions than anybody waits for: the search ends when its time is over.
// Expect: 3 explored: bounded: .* limit: time
// Options: seconds=1
#include <atomic>
#include <thread>

std::atomic<int> counter{0};

void add() {
  for (int i = 0; i < 8; ++i) counter.fetch_add(i, std::memory_order_relaxed);
}

int main() {
  std::thread one(add);
  std::thread two(add);
  std::thread three(add);
  one.join();
  two.join();
  three.join();
}
