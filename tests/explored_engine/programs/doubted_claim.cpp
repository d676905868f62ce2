// A lock whose acquire is missing, and that tells thread sanitizers of itself: by its accesses
// alone it orders nothing.
// Options: claims=0
// Expect: 1 data race: .* are not ordered: data$
#include <atomic>
#include <thread>

extern "C" {
void __tsan_mutex_post_lock(void*, unsigned, int);
int __tsan_mutex_pre_unlock(void*, unsigned);
}

namespace {

std::atomic<bool> taken;
int data;

void add() {
  while (taken.exchange(true, std::memory_order_relaxed)) std::this_thread::yield();
  __tsan_mutex_post_lock(&taken, 0, 0);
  ++data;
  __tsan_mutex_pre_unlock(&taken, 0);
  taken.store(false, std::memory_order_release);
}

}  // namespace

int main() {
  std::thread other(add);
  add();
  other.join();
}
