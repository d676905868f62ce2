// Frees an object as soon as the other thread says that it is done; but it is not.
// Expect: 1 (use after free|data race): .*
#include <atomic>
#include <thread>

struct shared {
  std::atomic<bool> done{false};
  std::atomic<int> uses{0};
};

int main() {
  auto* const s = new shared;
  std::thread other([s] {
    s->done.store(true, std::memory_order_release);
    s->uses.fetch_add(1, std::memory_order_relaxed);
  });
  while (!s->done.load(std::memory_order_acquire)) std::this_thread::yield();
  delete s;
  other.join();
}
