// Follows a null pointer if the other thread is late.
// Expect: 1 crash: segmentation fault at address 0x0
#include <atomic>
#include <thread>

std::atomic<int*> place{nullptr};
volatile int seen = 0;

int main() {
  static int value = 7;
  std::thread other([] { place.store(&value, std::memory_order_release); });
  seen = *place.load(std::memory_order_acquire);
  other.join();
}
