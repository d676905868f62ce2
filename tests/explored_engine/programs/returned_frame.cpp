// An event on the stack, which the one that sets it touches once more after the waiter may have
// left.
// Expect: 1 data race: .*the return from the variable's function.* not ordered
#include <atomic>
#include <thread>

struct event {
  std::atomic<bool> set{false};
  std::atomic<int> uses{0};
};

std::atomic<event*> current{nullptr};

[[gnu::noinline]] void wait_here() {
  event e;
  current.store(&e, std::memory_order_release);
  while (!e.set.load(std::memory_order_acquire)) std::this_thread::yield();
}

int main() {
  std::thread setter([] {
    event* e = nullptr;
    while ((e = current.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    e->set.store(true, std::memory_order_release);
    e->uses.load(std::memory_order_relaxed);
  });
  wait_here();
  setter.join();
}
