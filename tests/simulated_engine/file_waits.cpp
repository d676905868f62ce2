// Who waits for a pipe, an event or a timer sleeps in the machine's time: the same in every run.
// run: SYNCOPATE_MACHINE=test-4c
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <ctime>

namespace {
int there[2], back[2];

long nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

void* echo(void*) {
  char c;
  while (read(there[0], &c, 1) == 1) write(back[1], &c, 1);
  return nullptr;
}
void* wait_for_ever(void* end) {
  char c;
  read(*static_cast<int*>(end), &c, 1);
  return nullptr;
}
}  // namespace

int main() {
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  pthread_t thread;
  pthread_create(&thread, nullptr, echo, nullptr);
  char c = 'x';
  for (int i = 0; i < 3; ++i) {
    const long began = nanoseconds();
    write(there[1], &c, 1);
    read(back[0], &c, 1);
    std::printf("there and back: %ld us\n", (nanoseconds() - began + 500) / 1000);
  }
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const itimerspec soon{{0, 0}, {0, 500'000}};
  const long began = nanoseconds();
  timerfd_settime(timer, 0, &soon, nullptr);
  std::uint64_t times = 0;
  if (read(timer, &times, sizeof times) != sizeof times) return 1;
  std::printf("timer: %llu time after %ld00 us\n", static_cast<unsigned long long>(times),
              (nanoseconds() - began + 50'000) / 100'000);
  close(there[1]);
  pthread_join(thread, nullptr);
  // Nobody else can write to it: a deadlock, found at once.
  std::fflush(stdout);
  int mute[2];
  if (pipe(mute) != 0) return 1;
  pthread_create(&thread, nullptr, wait_for_ever, &mute[0]);
  pthread_join(thread, nullptr);
}
