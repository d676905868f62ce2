// A deadlock is reported: who waits for what, and who had it last.
// run: SYNCOPATE_MACHINE=test-4c
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/machine.h>

#include <atomic>
#include <mutex>
#include <thread>

std::mutex first, second;
std::atomic<int> both{0}, never{0};

void take(std::mutex& one, std::mutex& another) {
  const std::lock_guard held(one);
  ++both;
  syncopate::machine::wait_until(both, std::memory_order_acquire, [](int n) { return n == 2; });
  const std::lock_guard wanted(another);
}

void spin() {
  syncopate::machine::wait_until(never, std::memory_order_acquire, [](int n) { return n != 0; });
}

void poll() {
  while (never.load(std::memory_order_acquire) == 0) syncopate::machine::relax();
}

int main() {
  std::thread a([] { take(first, second); }), b([] { take(second, first); });
  std::thread c(spin), d(poll);
  a.join();
}
