// Crashes in an interleaving that comes after others: it is run once more, for its output.
// Expect: 1 crash: (illegal instruction|trap) at address
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex guard;
std::condition_variable changed;
bool ready = false;

int main() {
  std::thread waiter([] {
    std::unique_lock held(guard);
    if (!ready) {
      changed.wait(held);
      __builtin_trap();
    }
  });
  {
    const std::lock_guard held(guard);
    ready = true;
  }
  changed.notify_one();
  waiter.join();
}
