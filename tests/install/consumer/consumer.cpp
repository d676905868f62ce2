// A user's program: two threads add to two counters under a lock of the installed library, and
// ask the library which thread number they have.
#include <cstdio>
#include <mutex>
#include <thread>

#include <syncopate/locks/ticket_lock.h>
#include <syncopate/machine.h>

int main() {
  syncopate::ticket_lock<> first, second;
  long count = 0;
  const auto add = [&] {
    for (int i = 0; i < 1000; ++i) {
      std::scoped_lock guard(first, second);
      ++count;
    }
  };
  std::thread one(add), two(add);
  one.join();
  two.join();
  std::printf("%ld additions, thread %u\n", count, syncopate::machine::thread_index());
  return count == 2000 ? 0 : 1;
}
