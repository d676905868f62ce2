// futures.cpp -- std::async, promise, packaged_task; exceptions that cross threads, and exceptions
// in flight in several threads at once.

#include <chrono>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

void results() {
  std::vector<std::future<int>> all;
  for (int n = 5; n < 9; ++n) all.push_back(std::async(std::launch::async, fibonacci, n));
  const int expected[] = {5, 8, 13, 21};
  for (int i = 0; i < 4; ++i) CHECK(all[i].get() == expected[i]);

  std::packaged_task<int(int)> task(fibonacci);
  std::future<int> answer = task.get_future();
  std::thread runner(std::move(task), 10);
  CHECK(answer.get() == 55);
  runner.join();
}

void exception_crosses() {
  std::future<void> failing =
      std::async(std::launch::async, [] { throw std::runtime_error("over there"); });
  try {
    failing.get();
    CHECK(false);
  } catch (const std::runtime_error& e) {
    CHECK(std::string(e.what()) == "over there");
  }
  std::future<int> abandoned = std::promise<int>().get_future();
  try {
    abandoned.get();
    CHECK(false);
  } catch (const std::future_error& e) {
    CHECK(e.code() == std::future_errc::broken_promise);
  }
}

void each_thread_has_its_own_exception() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 3; ++i) {
        try {
          throw t;
        } catch (int caught) {
          std::this_thread::yield();
          CHECK(caught == t);
          try {
            throw;
          } catch (int again) {
            std::this_thread::yield();
            CHECK(again == t);
          }
        }
      }
      CHECK(std::uncaught_exceptions() == 0);
    });
  for (std::thread& t : threads) t.join();
}

void waiting_with_a_limit() {
  std::promise<void> never;
  const auto before = std::chrono::steady_clock::now();
  CHECK(never.get_future().wait_for(std::chrono::milliseconds(2)) == std::future_status::timeout);
  CHECK(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(2));
}

}  // namespace

int main() {
  results();
  exception_crosses();
  each_thread_has_its_own_exception();
  waiting_with_a_limit();
}
