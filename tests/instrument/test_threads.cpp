// Threads, thread_local variables, errno and exceptions belong to one simulated thread each.
#include <atomic>
#include <cerrno>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

const std::thread::id at_start = std::this_thread::get_id();
thread_local int mine = 7;
thread_local std::string text = "initial";
std::atomic<int> destroyed{0};
struct counts_its_end {
  int value = 3;
  ~counts_its_end() { ++destroyed; }
};
thread_local counts_its_end counted;

void worker(int id) {
  CHECK(mine == 7);
  CHECK(text == "initial");
  mine = id;
  text = std::to_string(id);
  counted.value = id;
  errno = id;
  for (int i = 0; i < 20; ++i) {
    try {
      try {
        throw std::runtime_error(std::to_string(id));
      } catch (const std::runtime_error& e) {
        std::this_thread::yield();  // others throw and catch meanwhile
        CHECK(std::string(e.what()) == std::to_string(id));
        CHECK(std::uncaught_exceptions() == 0);
        throw;
      }
    } catch (const std::exception& e) {
      std::this_thread::yield();
      CHECK(std::string(e.what()) == std::to_string(id));
    }
    CHECK(mine == id && text == std::to_string(id) && counted.value == id && errno == id);
  }
}

}  // namespace

int main() {
  CHECK(at_start == std::this_thread::get_id());
  mine = 100;
  for (int round = 0; round < 3; ++round) {  // stacks are used again
    std::vector<std::thread> threads;
    for (int i = 1; i <= 5; ++i) threads.emplace_back(worker, i);
    for (std::thread& t : threads) t.join();
    CHECK(destroyed == 5 * (round + 1));
  }
  CHECK(mine == 100);
  int sum = 0;
  std::mutex m;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        const std::lock_guard<std::mutex> hold(m);
        const int seen = sum;
        std::this_thread::yield();
        sum = seen + 1;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(sum == 400);
}
