// Data by seq_cst, a flag without: nothing puts the load of the data behind its store in S, so that
// the old value may be read. No order of execution is like that.
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
    if (flag.load(std::memory_order_relaxed) != 0) assert(data.load() == 1);
  });
  writer.join();
  reader.join();
}
