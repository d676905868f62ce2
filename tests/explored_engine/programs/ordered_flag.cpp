// As relaxed_flag.cpp, but the flag releases and acquires: the data is in order. All is modeled.
// Expect: 0 passed: 2 executions \(0 redundant, 0 cut\), [0-9]+ steps, 3 threads$
#include <atomic>
#include <cassert>
#include <thread>

int main() {
  std::atomic<int> data{0}, flag{0};
  std::thread writer([&] {
    data.store(1);
    flag.store(1, std::memory_order_release);
  });
  std::thread reader([&] {
    if (flag.load(std::memory_order_acquire) != 0) assert(data.load() == 1);
  });
  writer.join();
  reader.join();
}
