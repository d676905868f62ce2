// A loop that counts its turns is followed turn by turn: it ends, and sees an old value as often.
// Expect: 1 failed check: .*looked
#include <atomic>
#include <cassert>
#include <thread>

int main() {
  std::atomic<int> flag{0};
  std::thread waiter([&] {
    int looked = 0;
    while (flag.load(std::memory_order_acquire) == 0 && looked < 4) ++looked;
    assert(looked < 4);
  });
  flag.store(1, std::memory_order_release);
  waiter.join();
}
