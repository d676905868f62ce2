// counting.cpp -- threads that count under a pthread mutex each, until standard input ends. To each
// character there main answers how many sections ran as transactions, and how many under the lock.
#include <syncopate/machine.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include "../contended.h"

namespace {

struct alignas(128) counter {
  std::mutex mutex;
  std::uint64_t elided = 0, locked = 0;
};

counter counters[2];
std::atomic<bool> ends{false};

void count(counter& mine) {
  while (!ends.load()) {
    for (int i = 0; i < 20; ++i) {
      const std::lock_guard hold(mine.mutex);
      ++(syncopate::machine::htm::active() ? mine.elided : mine.locked);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

int main() {
  for (counter& each : counters) contend_once(*each.mutex.native_handle());
  std::thread first(count, std::ref(counters[0])), second(count, std::ref(counters[1]));
  while (std::getchar() != EOF) {
    std::uint64_t elided = 0, locked = 0;
    for (counter& each : counters) {
      const std::lock_guard hold(each.mutex);
      elided += each.elided;
      locked += each.locked;
    }
    std::printf("%llu %llu\n", static_cast<unsigned long long>(elided),
                static_cast<unsigned long long>(locked));
    std::fflush(stdout);
  }
  ends.store(true);
  first.join();
  second.join();
}
