// Who sleeps is put on another word, and woken there: the verdict says that orders may be missing.
// Expect: 0 not modeled: some orders of FUTEX_REQUEUE
#include <atomic>
#include <climits>
#include <thread>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

std::atomic<int> first{0}, second{0};

int main() {
  std::thread sleeper([] {
    while (second.load() == 0)
      syscall(SYS_futex, &first, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  });
  second = 1;
  first = 1;
  syscall(SYS_futex, &first, FUTEX_REQUEUE_PRIVATE, 0, INT_MAX, &second, 0);
  syscall(SYS_futex, &second, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  sleeper.join();
}
