// A function that is not instrumented never returns: the machine sees nothing of it, and time ends
// the run.
// Options: seconds=1
// Expect: 3 bounded: .*limit: time, in a computation without an access to memory, in .*never_ends
#include <atomic>
#include <thread>

__attribute__((noinline, no_sanitize("thread"))) unsigned never_ends(unsigned x) {
  while (x != 1) asm volatile("pause" : "+r"(x));
  return x;
}

int main() {
  std::atomic<unsigned> flag{0};
  std::thread other([&] { flag.store(never_ends(4)); });
  other.join();
  return flag == 1 ? 0 : 1;
}
