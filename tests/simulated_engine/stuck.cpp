// A deadlock beside a thread that only sleeps is no deadlock, but a run without end: what each
// thread does is said at the limit; of a lock whose waiters sleep elsewhere, too.
// run: SYNCOPATE_MACHINE=test-4c SYNCOPATE_LOCK=mcs SYNCOPATE_LIMIT=1
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

std::mutex first, second, third;
std::shared_mutex shared;
std::condition_variable never;

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

void take(std::mutex& one, std::mutex& another) {
  const std::lock_guard held(one);
  nap();
  const std::lock_guard wanted(another);
}

void wait_for_it() {
  std::unique_lock held(third);
  never.wait(held, [] { return false; });
}

void look() { const std::shared_lock held(shared); }

void sleep_on() {
  for (;;) nap();
}

int main() {
  const std::unique_lock held(shared);
  std::thread a([] { take(first, second); }), b([] { take(second, first); });
  std::thread c(wait_for_it), d(look), e(sleep_on);
  a.join();
}
