// stop_tokens.cpp -- std::jthread: stops and joins by itself; stop callbacks; waits that a stop
// ends.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "check.h"

int main() {
  std::atomic<int> rounds{0};
  {
    std::jthread worker([&](std::stop_token stop) {
      while (!stop.stop_requested()) {
        rounds.fetch_add(1);
        std::this_thread::yield();
      }
    });
    while (rounds.load() < 3) std::this_thread::yield();
  }
  CHECK(rounds.load() >= 3);

  std::mutex mutex;
  std::condition_variable_any condition;
  bool stopped = false;
  {
    std::jthread sleeper([&](std::stop_token stop) {
      std::unique_lock lock(mutex);
      CHECK(!condition.wait(lock, stop, [] { return false; }));
      stopped = true;
    });
  }
  CHECK(stopped);

  std::stop_source source;
  std::atomic<int> called{0};
  std::jthread watcher([&, token = source.get_token()] {
    std::stop_callback callback(token, [&] { called.fetch_add(1); });
    while (called.load() == 0) std::this_thread::yield();
  });
  CHECK(source.request_stop());
  CHECK(!source.request_stop());
  watcher.join();
  CHECK(called.load() == 1);

  // std::atomic's own waiting.
  std::atomic<int> word{0};
  std::jthread waiter([&] {
    word.wait(0);
    CHECK(word.load() == 1);
    word.store(2);
    word.notify_all();
  });
  word.store(1);
  word.notify_one();
  while (word.load() != 2) word.wait(1);
}
