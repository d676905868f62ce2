// As relaxed_flag.cpp, but who has seen the flag compares and exchanges, by seq_cst only where it
// succeeds: that may stand before the store in S, and in front of it in the modification order.
// Expect: 1 failed: failed check
#include <atomic>
#include <cassert>
#include <thread>

int main() {
  std::atomic<int> data{0}, flag{0};
  std::thread writer([&] {
    data.store(1);
    flag.store(1, std::memory_order_relaxed);
  });
  std::thread reader([&] {
    int expected = 0;
    if (flag.load(std::memory_order_relaxed) != 0)
      assert(!data.compare_exchange_strong(expected, 2, std::memory_order_seq_cst,
                                           std::memory_order_relaxed));
  });
  writer.join();
  reader.join();
}
