// One is woken, and two wait: each looks a few times, gives up and sleeps (std::atomic does).
// Expect: 1 deadlock
#include <atomic>
#include <thread>

std::atomic<int> word{0};

int main() {
  const auto waits = [] { word.wait(0); };
  std::thread a(waits), b(waits);
  word = 1;
  word.notify_one();
  a.join();
  b.join();
}
