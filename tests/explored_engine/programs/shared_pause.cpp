// Two loops pause in one function: that one of them never gives up says nothing about the other.
// Expect: 1 deadlock
#include <atomic>
#include <thread>

std::atomic<int> started{0}, flag{0}, events{0};

[[gnu::noinline]] void pause_here() { std::this_thread::yield(); }

int main() {
  std::thread sleeper([] {
    started = 1;
    for (int i = 0; i < 3; ++i) {
      if (flag == 1) return;
      pause_here();
    }
    const int seen = events;  // too late: after the last look at the flag
    events.wait(seen);
  });
  while (started == 0) pause_here();
  flag = 1;
  events = 1;
  events.notify_all();
  sleeper.join();
}
