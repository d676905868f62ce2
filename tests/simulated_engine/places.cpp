// Where a thread runs, what it is told about the machine, and how long things take, are all the
// simulated machine's: pinning, sched_getcpu, getcpu, clocks and sleeping.
// run: SYNCOPATE_MACHINE=test-4c
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <thread>

namespace {

long nanoseconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

void look(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  const int pinned = pthread_setaffinity_np(pthread_self(), sizeof one, &one);
  unsigned told = 99, node = 99;
  getcpu(&told, &node);
  const long before = nanoseconds(CLOCK_MONOTONIC), used = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  const timespec sleep{0, 1'000'000};
  nanosleep(&sleep, nullptr);
  const long slept = nanoseconds(CLOCK_MONOTONIC) - before;
  std::printf(
      "pinned to %d (%d): sched_getcpu %d, getcpu %u of node %u; asleep for %ld us, ran %s\n",
      processor, pinned, sched_getcpu(), told, node, slept / 1000,
      nanoseconds(CLOCK_THREAD_CPUTIME_ID) - used < 100'000 ? "little" : "meanwhile");
}

}  // namespace

int main() {
  std::printf("%ld processors, %u by std::thread\n", sysconf(_SC_NPROCESSORS_ONLN),
              std::thread::hardware_concurrency());
  for (const int processor : {3, 0, 2, 1}) std::thread(look, processor).join();
  cpu_set_t none;
  CPU_ZERO(&none);
  CPU_SET(9, &none);  // no such processor
  std::printf("pinned to 9: %s\n", pthread_setaffinity_np(pthread_self(), sizeof none, &none) != 0
                                       ? "refused"
                                       : "taken");
}
