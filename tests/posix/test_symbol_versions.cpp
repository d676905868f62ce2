// test_symbol_versions.cpp -- old and new symbol versions of the same calls, meeting on the same
// objects.
//
// Programs linked against glibc before 2.34 ask for the base version of every call, newer ones for
// GLIBC_2.34 where the symbol moved into libc: a library that exports one of them is bypassed
// half way.
#include "thread.h"

#if defined(__x86_64__)
#define BASE_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define BASE_VERSION "GLIBC_2.17"
#else
#error "name this machine's first glibc version"
#endif
// The call `name` under its base version, as old_<name>.
#define OLD(result, name, ...)               \
  extern "C" result old_##name(__VA_ARGS__); \
  __asm__(".symver old_" #name "," #name "@" BASE_VERSION)

OLD(int, pthread_mutex_lock, pthread_mutex_t*);
OLD(int, pthread_mutex_trylock, pthread_mutex_t*);
OLD(int, pthread_mutex_timedlock, pthread_mutex_t*, const timespec*);
OLD(int, pthread_mutex_unlock, pthread_mutex_t*);
OLD(int, pthread_mutex_init, pthread_mutex_t*, const pthread_mutexattr_t*);
OLD(int, pthread_mutex_destroy, pthread_mutex_t*);
OLD(int, pthread_rwlock_rdlock, pthread_rwlock_t*);
OLD(int, pthread_rwlock_wrlock, pthread_rwlock_t*);
OLD(int, pthread_rwlock_tryrdlock, pthread_rwlock_t*);
OLD(int, pthread_rwlock_trywrlock, pthread_rwlock_t*);
OLD(int, pthread_rwlock_unlock, pthread_rwlock_t*);
OLD(int, pthread_rwlock_init, pthread_rwlock_t*, const pthread_rwlockattr_t*);
OLD(int, pthread_rwlock_destroy, pthread_rwlock_t*);
OLD(int, pthread_spin_lock, pthread_spinlock_t*);
OLD(int, pthread_spin_trylock, pthread_spinlock_t*);
OLD(int, pthread_spin_unlock, pthread_spinlock_t*);
OLD(int, pthread_spin_init, pthread_spinlock_t*, int);
OLD(int, pthread_barrier_init, pthread_barrier_t*, const pthread_barrierattr_t*, unsigned);
OLD(int, pthread_barrier_wait, pthread_barrier_t*);
OLD(int, pthread_barrier_destroy, pthread_barrier_t*);

namespace {

void mutexes() {
  pthread_mutex_t mutex;
  CHECK_OK(old_pthread_mutex_init(&mutex, nullptr));
  CHECK_OK(old_pthread_mutex_lock(&mutex));
  CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
  CHECK_ERR(old_pthread_mutex_trylock(&mutex), EBUSY);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  CHECK_OK(old_pthread_mutex_trylock(&mutex));
  CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(&mutex); }), EBUSY);
  const timespec past = {1, 0};
  CHECK_ERR(in_other_thread([&] { return old_pthread_mutex_timedlock(&mutex, &past); }), ETIMEDOUT);
  CHECK_OK(old_pthread_mutex_unlock(&mutex));

  volatile long counter = 0;
  run_threads(4, [&](int self) {
    int bad = 0;
    for (int i = 0; i < 5000; ++i) {
      if (self % 2 == 0) {
        bad |= pthread_mutex_lock(&mutex);
      } else {
        while (old_pthread_mutex_trylock(&mutex) != 0) sched_yield();
      }
      counter = counter + 1;
      bad |= i % 2 == 0 ? pthread_mutex_unlock(&mutex) : old_pthread_mutex_unlock(&mutex);
    }
    CHECK_EQ(bad, 0);
  });
  CHECK_EQ(counter, 20000);
  CHECK_OK(old_pthread_mutex_destroy(&mutex));
}

void rwlocks() {
  pthread_rwlock_t lock;
  CHECK_OK(old_pthread_rwlock_init(&lock, nullptr));
  CHECK_OK(old_pthread_rwlock_rdlock(&lock));
  CHECK_OK(pthread_rwlock_tryrdlock(&lock));
  CHECK_ERR(pthread_rwlock_trywrlock(&lock), EBUSY);
  CHECK_ERR(old_pthread_rwlock_trywrlock(&lock), EBUSY);
  CHECK_OK(pthread_rwlock_unlock(&lock));
  CHECK_OK(old_pthread_rwlock_unlock(&lock));
  CHECK_OK(old_pthread_rwlock_wrlock(&lock));
  CHECK_ERR(pthread_rwlock_tryrdlock(&lock), EBUSY);
  CHECK_ERR(old_pthread_rwlock_tryrdlock(&lock), EBUSY);
  CHECK_OK(pthread_rwlock_unlock(&lock));
  CHECK_OK(old_pthread_rwlock_destroy(&lock));
}

void spins_and_barriers() {
  pthread_spinlock_t lock;
  CHECK_OK(old_pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
  CHECK_OK(old_pthread_spin_lock(&lock));
  CHECK_ERR(pthread_spin_trylock(&lock), EBUSY);
  CHECK_ERR(old_pthread_spin_trylock(&lock), EBUSY);
  CHECK_OK(pthread_spin_unlock(&lock));
  CHECK_OK(pthread_spin_lock(&lock));
  CHECK_OK(old_pthread_spin_unlock(&lock));

  pthread_barrier_t barrier;
  CHECK_OK(old_pthread_barrier_init(&barrier, nullptr, 2));
  int serials = 0;
  run_threads(2, [&](int self) {
    for (int i = 0; i < 100; ++i) {
      const int result =
          self == 0 ? pthread_barrier_wait(&barrier) : old_pthread_barrier_wait(&barrier);
      if (result == PTHREAD_BARRIER_SERIAL_THREAD) add_int(&serials, 1);
    }
  });
  CHECK_EQ(serials, 100);
  CHECK_OK(old_pthread_barrier_destroy(&barrier));
}

}  // namespace

int main() {
  check_begin();
  mutexes();
  rwlocks();
  spins_and_barriers();
  return check_end();
}
