// A function that is not instrumented never returns: the machine sees nothing of it, and time ends
// the run.
// Options: seconds=1
// Expect: 3 bounded: .*limit: time, in a computation without an access to memory, in .*never_ends
#include <atomic>
#include <thread>

__attribute__((noinline, no_sanitize("thread"))) unsigned never_ends(volatile unsigned* from) {
  unsigned x = *from;
  while (x != 1) x = x * 6364136223u + 2 + (x & 1);
  return x;
}

int main() {
  std::atomic<unsigned> flag{0};
  std::thread other([&] {
    volatile unsigned start = 4;
    flag.store(never_ends(&start));
  });
  other.join();
  return flag == 1 ? 0 : 1;
}
