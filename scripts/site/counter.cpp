// counter.cpp -- small enough to be explored to the end, and wrong: one increment is not locked.
#include <mutex>
#include <thread>

int count = 0;
std::mutex count_lock;

int main() {
  std::thread other([] { ++count; });
  {
    std::scoped_lock guard(count_lock);
    ++count;
  }
  other.join();
}
