// One thread waits for a value that nobody writes, by a compare-exchange that is seq_cst where it
// fails only; beside it a seq_cst load waits, and a loop that reads two variables. What wakes the
// sleeping compare-exchange has to come before it: else all executions were redundant.
// Expect: 1 failed: livelock
#pragma GCC diagnostic ignored "-Winvalid-memory-model"  // legal since C++17
#include <atomic>
#include <thread>

int main() {
  constexpr auto relaxed = std::memory_order_relaxed;
  std::atomic<int> go{0}, state{0};
  std::thread never([&] {
    for (int expected = 2;
         !state.compare_exchange_strong(expected, 1, relaxed, std::memory_order_seq_cst);)
      expected = 2;
  });
  std::thread loads([&] {
    while (state.load() == 0) {
    }
  });
  std::thread stores([&] {
    while (state.load(relaxed) == 0 && go.load(relaxed) == 0) {
    }
    state.store(1, relaxed);
  });
  std::thread starts([&] { go.store(1, relaxed); });
  never.join();
  loads.join();
  stores.join();
  starts.join();
}
