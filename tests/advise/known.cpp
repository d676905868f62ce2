// Five locks with known answers, for test_advise.py. Two threads take turns, so that which sections
// are compared, and what comes out, is the same on every machine.
#include <mutex>
#include <semaphore>
#include <thread>

#include <unistd.h>
#include <cstdio>

namespace {

constexpr int sections = 20;  // of each thread and lock
constexpr int line = 64;

struct alignas(line) {
  std::mutex lock;
  struct alignas(line) {
    long value;
  } slots[2];
} apart;  // each thread writes its own line

struct alignas(line) {
  std::mutex lock;
  alignas(line) long sum;
  alignas(line) long items[2 * line / sizeof(long)];
} counted;  // each thread writes its own items, and both the sum

struct alignas(line) {
  std::mutex lock;
  alignas(line) long left;
  long right;
} adjacent;  // each thread writes its own half of a line

struct alignas(line) {
  std::mutex lock;
  alignas(line) int file = 2;
} logged;

struct alignas(line) {
  std::mutex lock;
  alignas(line) long version;
} settings;  // every tenth section writes

std::binary_semaphore turn_of_0(1), turn_of_1(0);

template <class What, class Section>
void take_turns(int me, What& what, Section section) {
  for (int i = 0; i < sections; ++i) {
    (me == 0 ? turn_of_0 : turn_of_1).acquire();
    {
      const std::lock_guard hold(what.lock);
      section(i);
    }
    (me == 0 ? turn_of_1 : turn_of_0).release();
  }
}

void run(int me) {
  take_turns(me, apart, [=](int) { ++apart.slots[me].value; });
  take_turns(me, counted, [=](int i) {
    counted.items[me * 8 + i % 8] = i;
    ++counted.sum;  // the field
  });
  take_turns(me, adjacent, [=](int) {
    ++(me == 0 ? adjacent.left : adjacent.right);  // the line
  });
  take_turns(me, logged, [](int i) {
    if (write(logged.file, "", 0) != 0) std::puts("not written");  // the call
    if (i == 0) std::printf("begun\n");
  });
  take_turns(me, settings, [](int i) {
    if (i % 10 == 9) ++settings.version;  // the write
    else if (settings.version > sections) std::puts("no");
  });
}

}  // namespace

int main(int argc, char**) {
  std::thread other(run, 1);
  run(0);
  other.join();
  std::printf("%ld\n", counted.sum);
  return argc > 1 ? 7 : 0;
}
