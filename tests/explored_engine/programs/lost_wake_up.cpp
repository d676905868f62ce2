// Waits without looking at what it waits for: the notification may come before.
// Expect: 1 deadlock
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex guard;
std::condition_variable changed;

int main() {
  std::thread waiter([] {
    std::unique_lock held(guard);
    changed.wait(held);
  });
  {
    const std::lock_guard held(guard);
    changed.notify_one();
  }
  waiter.join();
}
