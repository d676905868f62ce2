// Two loops that pause longer and longer: the search does not end, but its time does.
// Options: seconds=1
// Expect: 3 bounded: .*limit: time
#include <atomic>
#include <thread>

int main() {
  std::atomic<int> flag{0};
  const auto wait = [&] {
    for (int pauses = 1; flag.load(std::memory_order_acquire) != 2; pauses *= 2)
      for (int i = 0; i < pauses; ++i) asm volatile("pause");
  };
  std::thread first(wait), second(wait);
  flag.store(1, std::memory_order_release);
  first.join();
  second.join();
}
