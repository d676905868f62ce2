// A deadlock under a lock whose sleepers wake from time to time is reported, too; a thread that
// waits with a time-out, longer than anybody looks, is none.
// run: SYNCOPATE_MACHINE=test-4c SYNCOPATE_LOCK=auto
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

std::timed_mutex held_long;
std::mutex first, second;
std::condition_variable never;
std::atomic<int> both{0};

void take(std::mutex& one, std::mutex& another) {
  const std::lock_guard held(one);
  ++both;
  while (both != 2) std::this_thread::yield();
  const std::lock_guard wanted(another);
}

int main() {
  {
    const std::lock_guard held(held_long);
    std::thread patient(
        [] { std::puts(held_long.try_lock_for(std::chrono::seconds(5)) ? "taken" : "timed out"); });
    patient.join();
  }
  std::thread a([] { take(first, second); }), b([] { take(second, first); });
  std::thread c([] {
    std::mutex own;
    std::unique_lock lock(own);
    never.wait(lock, [] { return false; });
  });
  a.join();
}
