// Who sleeps is put on another word, where nobody wakes it, and wakes for no reason: nothing else
// lets it go on with its time not over.
// Expect: 1 woken == 1 || moved == 0
#include <atomic>
#include <cassert>
#include <climits>
#include <ctime>
#include <thread>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

std::atomic<int> first{0}, second{0};

int main() {
  long slept = 0, woken = 0, moved = 0;
  std::thread sleeper([&] {
    const timespec while_it_waits{1, 0};
    slept = syscall(SYS_futex, &first, FUTEX_WAIT_PRIVATE, 0, &while_it_waits, nullptr, 0);
  });
  std::thread waker([&] {
    first.store(1, std::memory_order_relaxed);
    woken = syscall(SYS_futex, &first, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  });
  std::thread mover(
      [&] { moved = syscall(SYS_futex, &first, FUTEX_REQUEUE_PRIVATE, 0, INT_MAX, &second, 0); });
  sleeper.join();
  waker.join();
  mover.join();
  if (slept == 0) assert(woken == 1 || moved == 0);
}
