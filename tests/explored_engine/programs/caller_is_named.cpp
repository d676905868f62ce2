// What main() asks of the library is a call, since main() is cold: the line is main's all the same.
// Expect: 1 waits for a value of left, now 1, main at caller_is_named.cpp:15
#include <mutex>
#include <thread>

std::mutex left, right;

int main() {
  std::thread other([] {
    const std::scoped_lock a(left);
    const std::scoped_lock b(right);
  });
  {
    const std::scoped_lock b(right);
    const std::scoped_lock a(left);
  }
  other.join();
}
