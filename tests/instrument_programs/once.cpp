// once.cpp -- std::call_once, pthread_once and static local variables: once, even when the first
// attempts fail.

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <pthread.h>

#include "check.h"

namespace {

template <class Body>
void in_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(body);
  for (std::thread& t : threads) t.join();
}

std::atomic<int> pthread_calls{0};
pthread_once_t control = PTHREAD_ONCE_INIT;

struct slow_to_make {
  static inline std::atomic<int> made{0};
  int value;
  slow_to_make() {
    std::this_thread::yield();
    value = 42;
    if (made.fetch_add(1) == 0) throw std::runtime_error("the first attempt fails");
  }
};

int use_static() {
  static const slow_to_make object;
  return object.value;
}

}  // namespace

int main() {
  std::once_flag flag;
  std::atomic<int> attempts{0}, failures{0};
  int written = 0;
  in_threads(4, [&] {
    try {
      std::call_once(flag, [&] {
        if (attempts.fetch_add(1) < 2) throw std::runtime_error("not yet");
        std::this_thread::yield();
        written = 1;
      });
      CHECK(written == 1);
    } catch (const std::runtime_error&) {
      failures.fetch_add(1);
    }
  });
  CHECK(attempts.load() == 3);
  CHECK(failures.load() == 2);

  in_threads(4, [] {
    CHECK(pthread_once(&control, [] {
            std::this_thread::yield();
            pthread_calls.fetch_add(1);
          }) == 0);
    CHECK(pthread_calls.load() == 1);
  });

  std::atomic<int> failed{0};
  in_threads(4, [&] {
    try {
      CHECK(use_static() == 42);
    } catch (const std::runtime_error&) {
      failed.fetch_add(1);
    }
  });
  CHECK(failed.load() == 1);
  CHECK(slow_to_make::made.load() == 2);
}
