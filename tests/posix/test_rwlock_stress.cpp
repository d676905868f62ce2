// test_rwlock_stress.cpp -- readers and writers with every form mixed: writers alone, readers see
// no halves.
#include "thread.h"

namespace {

constexpr int threads = 6;
constexpr int rounds = 8000;

struct Shared {
  pthread_rwlock_t lock;
  volatile long first = 0;  // equal whenever no writer is inside
  volatile long second = 0;
  int readers_inside = 0;
  int writers_inside = 0;
};

bool enter(pthread_rwlock_t* lock, bool write, unsigned choice) {
  const timespec real = in_ms(CLOCK_REALTIME, choice % 2);
  const timespec monotonic = in_ms(CLOCK_MONOTONIC, choice % 2);
  int error = 0;
  switch (choice % 6) {
    case 0: error = write ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock); break;
    case 1:
      error =
          write ? pthread_rwlock_timedwrlock(lock, &real) : pthread_rwlock_timedrdlock(lock, &real);
      break;
    case 2:
      error = write ? pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &monotonic)
                    : pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &monotonic);
      break;
    default:
      error = write ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock);
      if (error != 0) CHECK_OK(error);
  }
  if (error != 0 && error != EBUSY && error != ETIMEDOUT) CHECK_OK(error);
  return error == 0;
}

void exercise(int kind, unsigned seed, unsigned writes_in_16) {
  Shared shared;
  pthread_rwlockattr_t attributes;
  CHECK_OK(pthread_rwlockattr_init(&attributes));
  CHECK_OK(pthread_rwlockattr_setkind_np(&attributes, kind));
  CHECK_OK(pthread_rwlock_init(&shared.lock, &attributes));
  long written = 0;
  int violations = 0;
  run_threads(threads, [&](int self) {
    unsigned random = seed + static_cast<unsigned>(self) * 7919u;
    for (int i = 0; i < rounds; ++i) {
      const unsigned choice = next_random(&random);
      const bool write = (choice >> 8) % 16 < writes_in_16;
      if (!enter(&shared.lock, write, choice)) continue;
      if (write) {
        if (add_int(&shared.writers_inside, 1) != 1 || get_int(&shared.readers_inside) != 0)
          add_int(&violations, 1);
        shared.first = shared.first + 1;
        if (choice % 64 == 5) sched_yield();
        shared.second = shared.second + 1;
        __atomic_add_fetch(&written, 1, __ATOMIC_RELAXED);
        add_int(&shared.writers_inside, -1);
      } else {
        add_int(&shared.readers_inside, 1);
        if (get_int(&shared.writers_inside) != 0 || shared.first != shared.second)
          add_int(&violations, 1);
        add_int(&shared.readers_inside, -1);
      }
      if (pthread_rwlock_unlock(&shared.lock) != 0) add_int(&violations, 1);
    }
  });
  CHECK_EQ(violations, 0);
  CHECK_EQ(shared.first, written);
  CHECK_EQ(shared.second, written);
  CHECK_OK(pthread_rwlock_trywrlock(&shared.lock));
  CHECK_OK(pthread_rwlock_unlock(&shared.lock));
  CHECK_OK(pthread_rwlock_destroy(&shared.lock));
}

}  // namespace

int main() {
  check_begin();
  const unsigned seed = check_seed();
  for (const int kind :
       {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP})
    for (const unsigned writes_in_16 : {1u, 8u, 16u}) exercise(kind, seed, writes_in_16);
  return check_end();
}
