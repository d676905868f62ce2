// Threads that work on what is on each other's stacks, and wait until nobody does: nothing is
// wrong.
// Expect: 0 passed: .*
#include <atomic>
#include <thread>

[[gnu::noinline]] void add_one(std::atomic<int>& sum, int& twice) {
  ++twice;
  sum.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::noinline]] int deeper(int depth) {
  if (depth != 0) return deeper(depth - 1);
  std::atomic<int> sum{0};
  int first = 0, second = 0;
  {
    std::thread helper([&] {
      int mine = 0;
      std::thread(add_one, std::ref(sum), std::ref(mine)).join();
      first = mine;
    });
    add_one(sum, second);
    helper.join();
  }
  return sum.load(std::memory_order_relaxed) + first + second;
}

int main() { return deeper(3) == 4 ? deeper(0) - 4 : 1; }
