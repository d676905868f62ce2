// test_std.cpp -- the C++ library's locks, conditions, once flags and stop tokens, as libstdc++
// calls us.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "check.h"

namespace {

using namespace std::chrono_literals;

template <typename Body>
void in_threads(int count, Body body) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
}

template <typename Body>
bool elsewhere(Body body) {
  bool result = false;
  std::jthread([&] { result = body(); }).join();
  return result;
}

template <typename Mutex>
void excludes() {
  Mutex mutex;
  long counter = 0;
  in_threads(4, [&](int) {
    for (int i = 0; i < 5000; ++i) {
      const std::lock_guard guard(mutex);
      ++counter;
    }
  });
  CHECK_EQ(counter, 20000);
  const std::lock_guard guard(mutex);
  CHECK(!elsewhere([&] { return mutex.try_lock(); }));
}

template <typename Mutex>
void times_out() {
  Mutex mutex;
  const std::lock_guard guard(mutex);
  CHECK(elsewhere([&] {
    const auto start = std::chrono::steady_clock::now();
    return !mutex.try_lock_for(5ms) && std::chrono::steady_clock::now() - start >= 5ms;
  }));
  CHECK(elsewhere([&] {
    const auto deadline = std::chrono::system_clock::now() + 3ms;
    return !mutex.try_lock_until(deadline) && std::chrono::system_clock::now() >= deadline;
  }));
  CHECK(elsewhere([&] { return !mutex.try_lock_until(std::chrono::steady_clock::now() - 1h); }));
}

template <typename Mutex>
void shares() {
  Mutex mutex;
  {
    const std::shared_lock reader(mutex);
    CHECK(elsewhere([&] { return std::shared_lock(mutex, std::try_to_lock).owns_lock(); }));
    CHECK(!elsewhere([&] { return std::unique_lock(mutex, std::try_to_lock).owns_lock(); }));
  }
  long counter = 0;
  in_threads(4, [&](int) {
    for (int i = 0; i < 1000; ++i) {
      const std::unique_lock writer(mutex);
      ++counter;
    }
    for (int i = 0; i < 1000; ++i) {
      const std::shared_lock reader(mutex);
      if (counter < 1000) abort();
    }
  });
  CHECK_EQ(counter, 4000);
}

void shared_timed() {
  std::shared_timed_mutex mutex;
  const std::unique_lock writer(mutex);
  CHECK(elsewhere([&] { return !mutex.try_lock_shared_for(3ms); }));
  CHECK(elsewhere([&] { return !mutex.try_lock_for(3ms); }));
  CHECK(elsewhere([&] { return !mutex.try_lock_shared_until(std::chrono::system_clock::now()); }));
}

// std::shared_mutex reports a thread that locks what it has already locked.
void deadlock_is_reported() {
  std::shared_mutex mutex;
  const std::unique_lock writer(mutex);
  int code = 0;
  try {
    mutex.lock();
  } catch (const std::system_error& error) {
    code = error.code().value();
  }
  CHECK_ERR(code, EDEADLK);
}

void recursive() {
  std::recursive_mutex mutex;
  for (int i = 0; i < 3; ++i) mutex.lock();
  for (int i = 0; i < 3; ++i) {
    CHECK(!elsewhere([&] { return mutex.try_lock(); }));
    mutex.unlock();
  }
  CHECK(elsewhere([&] {
    if (!mutex.try_lock()) return false;
    mutex.unlock();
    return true;
  }));
}

void several_at_once() {
  std::mutex first;
  std::mutex second;
  std::recursive_mutex third;
  long counter = 0;
  in_threads(4, [&](int self) {
    for (int i = 0; i < 2000; ++i) {
      if (self % 2 != 0) {
        const std::scoped_lock guard(first, second, third);
        ++counter;
      } else {
        const std::scoped_lock guard(third, second, first);
        ++counter;
      }
    }
  });
  CHECK_EQ(counter, 8000);
}

template <typename Condition, typename Mutex>
void ping_pong() {
  Mutex mutex;
  Condition cond;
  int turn = 0;
  in_threads(2, [&](int self) {
    for (int i = 0; i < 500; ++i) {
      std::unique_lock lock(mutex);
      cond.wait(lock, [&] { return turn == self; });
      turn = 1 - self;
      cond.notify_one();
    }
  });
  CHECK_EQ(turn, 0);
  std::unique_lock lock(mutex);
  const auto start = std::chrono::steady_clock::now();
  CHECK(!cond.wait_for(lock, 4ms, [] { return false; }));
  CHECK(std::chrono::steady_clock::now() - start >= 4ms);
  const auto deadline = std::chrono::system_clock::now() + 4ms;
  CHECK(!cond.wait_until(lock, deadline, [] { return false; }));
  CHECK(std::chrono::system_clock::now() >= deadline);
}

void stop_tokens() {
  std::mutex mutex;
  std::condition_variable_any cond;
  bool stopped = false;
  {
    std::jthread waiter([&](const std::stop_token& token) {
      std::unique_lock lock(mutex);
      CHECK(!cond.wait(lock, token, [] { return false; }));
      stopped = true;
    });
    std::this_thread::sleep_for(2ms);
  }
  CHECK(stopped);
}

void once() {
  std::once_flag flag;
  int failures = 0;
  int calls = 0;
  std::mutex mutex;
  in_threads(4, [&](int) {
    try {
      std::call_once(flag, [&] {
        const std::lock_guard guard(mutex);
        ++calls;
      });
    } catch (...) {
      ++failures;
    }
  });
  CHECK_EQ(calls, 1);
  CHECK_EQ(failures, 0);
}

void notify_at_thread_exit() {
  std::mutex mutex;
  std::condition_variable cond;
  bool done = false;
  std::jthread thread([&] {
    std::unique_lock lock(mutex);
    done = true;
    std::notify_all_at_thread_exit(cond, std::move(lock));
  });
  std::unique_lock lock(mutex);
  cond.wait(lock, [&] { return done; });
  CHECK(done);
}

}  // namespace

int main() {
  check_begin();
  excludes<std::mutex>();
  excludes<std::timed_mutex>();
  excludes<std::recursive_mutex>();
  excludes<std::recursive_timed_mutex>();
  excludes<std::shared_mutex>();
  times_out<std::timed_mutex>();
  times_out<std::recursive_timed_mutex>();
  shares<std::shared_mutex>();
  shares<std::shared_timed_mutex>();
  shared_timed();
  deadlock_is_reported();
  recursive();
  several_at_once();
  ping_pong<std::condition_variable, std::mutex>();
  ping_pong<std::condition_variable_any, std::recursive_mutex>();
  ping_pong<std::condition_variable_any, std::shared_mutex>();
  stop_tokens();
  once();
  notify_at_thread_exit();
  return check_end();
}
