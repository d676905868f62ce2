// test_errno_kept.cpp -- no call changes errno, contended, timed out or refused: programs unlock
// before reading it.
#include "thread.h"

namespace {

constexpr int mark = 4242;

// Runs one call and checks that errno is what it was before.
#define KEEPS_ERRNO(call, expected) \
  do {                              \
    errno = mark;                   \
    const int result = (call);      \
    const int after = errno;        \
    CHECK_ERR(result, expected);    \
    CHECK_EQ(after, mark);          \
  } while (0)

void mutexes() {
  pthread_mutex_t mutex;
  KEEPS_ERRNO(pthread_mutex_init(&mutex, nullptr), 0);
  KEEPS_ERRNO(pthread_mutex_lock(&mutex), 0);
  KEEPS_ERRNO(pthread_mutex_trylock(&mutex), EBUSY);
  const timespec past = {1, 0};
  const timespec bad = {1, -1};
  const timespec soon = in_ms(CLOCK_REALTIME, 3);
  KEEPS_ERRNO(pthread_mutex_timedlock(&mutex, &past), ETIMEDOUT);
  KEEPS_ERRNO(pthread_mutex_timedlock(&mutex, &bad), EINVAL);
  KEEPS_ERRNO(pthread_mutex_timedlock(&mutex, &soon), ETIMEDOUT);
  KEEPS_ERRNO(pthread_mutex_destroy(&mutex), EBUSY);
  int waiting = 0;
  Thread waiter([&] {
    set_int(&waiting, 1);
    KEEPS_ERRNO(pthread_mutex_lock(&mutex), 0);
    KEEPS_ERRNO(pthread_mutex_unlock(&mutex), 0);
  });
  await_int(&waiting, 1);
  sleep_ms(3);
  KEEPS_ERRNO(pthread_mutex_unlock(&mutex), 0);
  waiter.join();
  KEEPS_ERRNO(pthread_mutex_destroy(&mutex), 0);
}

void conditions() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond;
  KEEPS_ERRNO(pthread_cond_init(&cond, nullptr), 0);
  const timespec past = {1, 0};
  CHECK_OK(pthread_mutex_lock(&mutex));
  KEEPS_ERRNO(pthread_cond_timedwait(&cond, &mutex, &past), ETIMEDOUT);
  const timespec soon = in_ms(CLOCK_MONOTONIC, 3);
  KEEPS_ERRNO(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  int waiting = 0;
  bool open = false;
  Thread waiter([&] {
    CHECK_OK(pthread_mutex_lock(&mutex));
    set_int(&waiting, 1);
    while (!open) KEEPS_ERRNO(pthread_cond_wait(&cond, &mutex), 0);
    CHECK_OK(pthread_mutex_unlock(&mutex));
  });
  await_int(&waiting, 1);
  CHECK_OK(pthread_mutex_lock(&mutex));
  open = true;
  KEEPS_ERRNO(pthread_cond_signal(&cond), 0);
  KEEPS_ERRNO(pthread_cond_broadcast(&cond), 0);
  KEEPS_ERRNO(pthread_mutex_unlock(&mutex), 0);
  waiter.join();
  KEEPS_ERRNO(pthread_cond_destroy(&cond), 0);
}

void rwlocks() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  KEEPS_ERRNO(pthread_rwlock_wrlock(&lock), 0);
  KEEPS_ERRNO(pthread_rwlock_rdlock(&lock), EDEADLK);
  int waiting = 0;
  std::deque<Thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&, i] {
      const timespec soon = in_ms(CLOCK_REALTIME, 1);
      KEEPS_ERRNO(pthread_rwlock_timedrdlock(&lock, &soon), ETIMEDOUT);
      KEEPS_ERRNO(pthread_rwlock_timedwrlock(&lock, &soon), ETIMEDOUT);
      KEEPS_ERRNO(pthread_rwlock_trywrlock(&lock), EBUSY);
      add_int(&waiting, 1);
      KEEPS_ERRNO(i % 2 != 0 ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock), 0);
      KEEPS_ERRNO(pthread_rwlock_unlock(&lock), 0);
    });
  }
  await_int(&waiting, 4);
  sleep_ms(3);
  KEEPS_ERRNO(pthread_rwlock_unlock(&lock), 0);
  waiters.clear();
  KEEPS_ERRNO(pthread_rwlock_destroy(&lock), 0);
}

void barriers() {
  pthread_barrier_t barrier;
  KEEPS_ERRNO(pthread_barrier_init(&barrier, nullptr, 0), EINVAL);
  KEEPS_ERRNO(pthread_barrier_init(&barrier, nullptr, 2), 0);
  run_threads(2, [&](int self) {
    if (self == 0) sleep_ms(2);
    for (int i = 0; i < 50; ++i) {
      errno = mark;
      const int result = pthread_barrier_wait(&barrier);
      CHECK_EQ(errno, mark);
      CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    }
  });
  KEEPS_ERRNO(pthread_barrier_destroy(&barrier), 0);
}

}  // namespace

int main() {
  check_begin();
  mutexes();
  conditions();
  rwlocks();
  barriers();
  return check_end();
}
