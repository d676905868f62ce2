// A loop without a pause that may look when the value which it waits for has gone again.
// Expect: 1 livelock: threads spin on what nobody will change
#include <atomic>
#include <thread>

int main() {
  std::atomic<int> flag{0};
  std::thread waiter([&] {
    while (flag.load(std::memory_order_acquire) != 1) continue;
  });
  flag.store(1, std::memory_order_release);
  flag.store(0, std::memory_order_release);
  waiter.join();
}
