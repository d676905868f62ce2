// Sleepers that are moved to the word where they sleep stay there, in their order.
// Options: spurious=0
// Expect: 0 passed: [0-9]+ executions
#include <atomic>
#include <cassert>
#include <climits>
#include <thread>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

std::atomic<int> word{0};

int main() {
  std::thread sleeper(
      [] { syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0); });
  std::thread mover([] {
    const long moved = syscall(SYS_futex, &word, FUTEX_REQUEUE_PRIVATE, 0, INT_MAX, &word, 0);
    assert(moved == 0 || moved == 1);
  });
  mover.join();
  word.store(1, std::memory_order_relaxed);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  sleeper.join();
}
