// Waits, without a pause in the loop, for a value that nobody writes, and counts the turns.
// Expect: 1 livelock: a loop reads what nobody will change
#include <atomic>
#include <thread>

int main() {
  std::atomic<int> flag{0};
  flag = 1;
  std::thread waiter([&] {
    volatile unsigned turns = 0;
    while (flag.load(std::memory_order_acquire) != 2) turns = turns + 1;
  });
  waiter.join();
}
