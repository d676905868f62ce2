// test_mutex_exclusion.cpp -- mutual exclusion for every kind with lock, trylock, timed forms
// mixed.
//
// A plain counter and an owner word are touched inside the section alone: two threads inside at
// once lose counts or see a foreign owner.
#include "mutex_kinds.h"
#include "thread.h"

namespace {

constexpr int threads = 6;
constexpr int rounds = 8000;
constexpr int least = 20;   // rounds, though the time is over
constexpr int seconds = 2;  // For each kind and making, where waiting costs time slices.

struct Section {
  pthread_mutex_t mutex;
  volatile long counter = 0;
  volatile int owner = -1;
};

bool take(pthread_mutex_t* mutex, unsigned choice) {
  timespec deadline;
  int error = 0;
  switch (choice % 8) {
    case 0:
      error = pthread_mutex_trylock(mutex);
      CHECK(error == 0 || error == EBUSY);
      return error == 0;
    case 1:
      deadline = in_ms(CLOCK_REALTIME, static_cast<long>(choice / 8 % 3));
      error = pthread_mutex_timedlock(mutex, &deadline);
      CHECK(error == 0 || error == ETIMEDOUT);
      return error == 0;
    case 2:
      deadline = in_ms(CLOCK_MONOTONIC, static_cast<long>(choice / 8 % 3));
      error = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &deadline);
      CHECK(error == 0 || error == ETIMEDOUT);
      return error == 0;
    default:
      error = pthread_mutex_lock(mutex);
      if (error != 0) CHECK_OK(error);
      return error == 0;
  }
}

void exercise(const MutexKind& kind, Making making, unsigned seed) {
  Section section;
  make_mutex(&section.mutex, kind, making);
  long taken = 0;
  int intruders = 0;
  const Hourglass time(seconds);
  run_threads(threads, [&](int self) {
    unsigned random = seed + static_cast<unsigned>(self) * 7919u;
    long mine = 0;
    for (int i = 0; i < rounds && (i < least || !time.is_over()); ++i) {
      const unsigned choice = next_random(&random);
      if (!take(&section.mutex, choice)) continue;
      section.owner = self;
      section.counter = section.counter + 1;
      if (choice % 512 == 3) sched_yield();
      if (section.owner != self) add_int(&intruders, 1);
      ++mine;
      if (pthread_mutex_unlock(&section.mutex) != 0) add_int(&intruders, 1);
    }
    __atomic_add_fetch(&taken, mine, __ATOMIC_RELAXED);
  });
  CHECK_EQ(section.counter, taken);
  CHECK_EQ(intruders, 0);
  CHECK_OK(pthread_mutex_trylock(&section.mutex));
  CHECK_OK(pthread_mutex_unlock(&section.mutex));
  CHECK_OK(pthread_mutex_destroy(&section.mutex));
}

}  // namespace

int main() {
  check_begin();
  const unsigned seed = check_seed();
  for (const MutexKind& kind : mutex_kinds)
    for (const Making making : makings) exercise(kind, making, seed);
  return check_end();
}
