// A loop that polls by hand sleeps each time that it waits: these polls would take many minutes.
// run: SYNCOPATE_MACHINE=test-4c
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

std::atomic<int> turn{0}, others{0};

void follow() {
  for (int i = 1; i <= 10; ++i) {
    while (turn.load(std::memory_order_acquire) != i) {
    }
    std::printf("turn %d of %d\n", i, others.load() + 10);
  }
}

int main() {
  std::thread follower(follow);
  for (int i = 1; i <= 10; ++i) {
    std::this_thread::sleep_for(std::chrono::seconds(50));
    turn = i;
  }
  follower.join();
}
