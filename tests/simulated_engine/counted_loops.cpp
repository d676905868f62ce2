// Loops that poll by hand and give up by themselves, after many turns or at a time: those who wait
// for that are no deadlock, and the time is that of their turns.
// run: SYNCOPATE_MACHINE=test-4c
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

using clock_type = std::chrono::steady_clock;

std::atomic<int> flag{0}, asked{0};

long since(clock_type::time_point begun) {
  return std::chrono::duration_cast<std::chrono::microseconds>(clock_type::now() - begun).count();
}

// Runs `poll`, which returns when it has given up, beside a thread that waits for just that.
template <class Poll>
void give_up(const char* what, Poll poll) {
  flag = asked = 0;
  const auto begun = clock_type::now();
  std::thread waiting([&] {
    poll();
    asked = 1;
    asked.notify_all();
    flag.wait(0);
  });
  asked.wait(0);
  std::printf("%s: given up within %ld ms\n", what, since(begun) / 1000 + 1);
  flag = 1;
  flag.notify_all();
  waiting.join();
}

}  // namespace

int main() {
  give_up("5000 turns that yield", [] {
    for (int i = 0; i < 5000 && flag.load() == 0; ++i) std::this_thread::yield();
  });
  give_up("3 million turns", [] {
    for (int i = 0; i < 3'000'000 && flag.load(std::memory_order_relaxed) == 0; ++i) {
    }
  });
  give_up("until a time", [] {
    const auto until = clock_type::now() + std::chrono::milliseconds(5);
    while (flag.load() == 0 && clock_type::now() < until) {
    }
  });
  // A loop that ends long before anything else happens.
  flag = 0;
  std::thread turns([] {
    const auto begun = clock_type::now();
    int i = 0;
    while (i < 20'000 && flag.load(std::memory_order_relaxed) == 0) ++i;
    std::printf("%d turns: less than a millisecond: %s\n", i, since(begun) < 1000 ? "yes" : "no");
  });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  flag = 1;
  turns.join();
}
