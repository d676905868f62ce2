// A flag with release and acquire publishes plain data; a mutex guards a counter.
// Expect: 0 explored: passed
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

std::atomic<bool> ready{false};
int data = 0;
std::mutex guard;
int counter = 0;

int main() {
  std::thread writer([] {
    data = 42;
    ready.store(true, std::memory_order_release);
    const std::lock_guard held(guard);
    ++counter;
  });
  if (ready.load(std::memory_order_acquire)) assert(data == 42);
  {
    const std::lock_guard held(guard);
    ++counter;
  }
  writer.join();
  assert(counter == 2);
}
