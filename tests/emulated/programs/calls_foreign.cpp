// calls_foreign.cpp -- threads that call a library which is not instrumented and takes locks of its
// own, and which calls them back while it holds these. What such a library writes cannot be undone:
// its sections must not run as transactions.
#include <syncopate/machine.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

extern "C" {
void foreign_count(void (*)(void));
long foreign_under_mutex(void);
long foreign_under_rwlock(void);
}

namespace {

constexpr int threads = 3, calls = 300;
std::mutex own;
long sums[8];
std::atomic<long> elided{0};

void add() {
  for (long& each : sums) each = each + 1;
  if (syncopate::machine::htm::active()) elided.fetch_add(1);
}

void work() {
  for (int i = 0; i < calls; ++i) {
    foreign_count([] {
      const std::lock_guard hold(own);  // this one may be elided
      add();
    });
  }
}

}  // namespace

int main() {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work);
  for (std::thread& each : all) each.join();
  std::printf("%ld %ld %ld %ld\n", foreign_under_mutex(), foreign_under_rwlock(), sums[7],
              elided.load());
}
