// test_not_cancellation_points.cpp -- a pending cancellation is not acted upon by anything but
// condition waits.
//
// POSIX: the mutex, rwlock, spin and barrier calls shall not be cancellation points. A lock
// library that sleeps by nanosleep or sched_yield through a canceling wrapper would unwind out of
// a lock call.
#include "thread.h"

namespace {

// Runs `body` in a thread with a cancellation pending from its start to its end.
void with_cancel_pending(const std::function<void()>& body,
                         const std::function<void()>& meanwhile) {
  int step = 0;
  int finished = 0;
  Thread thread([&] {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    set_int(&step, 1);
    await_int(&step, 2);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
    set_int(&step, 3);
    body();
    set_int(&finished, 1);
    pthread_testcancel();
    set_int(&finished, 2);
  });
  await_int(&step, 1);
  CHECK_OK(pthread_cancel(thread.handle()));
  set_int(&step, 2);
  await_int(&step, 3);
  sleep_ms(3);  // let it wait in earnest: park, not only spin
  meanwhile();
  CHECK(thread.join() == PTHREAD_CANCELED);
  CHECK_EQ(finished, 1);
}

// CHECK writes with write(2), a cancellation point, only when a check fails; its passing is silent.
void mutexes() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const auto release = [&] { CHECK_OK(pthread_mutex_unlock(&mutex)); };
  CHECK_OK(pthread_mutex_lock(&mutex));
  with_cancel_pending([&] { CHECK_OK(pthread_mutex_lock(&mutex)); }, release);
  with_cancel_pending(
      [&] {
        const timespec soon = in_ms(CLOCK_REALTIME, 2);
        CHECK_ERR(pthread_mutex_timedlock(&mutex, &soon), ETIMEDOUT);
        const timespec soon_monotonic = in_ms(CLOCK_MONOTONIC, 2);
        CHECK_ERR(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &soon_monotonic), ETIMEDOUT);
        CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
      },
      [] {});
  with_cancel_pending(release, [] {});
}

void rwlocks() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (const bool write : {false, true}) {
    CHECK_OK(pthread_rwlock_wrlock(&lock));
    with_cancel_pending(
        [&] {
          CHECK_OK(write ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
          CHECK_OK(pthread_rwlock_unlock(&lock));
        },
        [&] { CHECK_OK(pthread_rwlock_unlock(&lock)); });
  }
  CHECK_OK(pthread_rwlock_wrlock(&lock));
  with_cancel_pending(
      [&] {
        const timespec soon = in_ms(CLOCK_REALTIME, 2);
        CHECK_ERR(pthread_rwlock_timedrdlock(&lock, &soon), ETIMEDOUT);
        CHECK_ERR(pthread_rwlock_timedwrlock(&lock, &soon), ETIMEDOUT);
      },
      [] {});
  CHECK_OK(pthread_rwlock_unlock(&lock));
}

void spins_and_barriers() {
  pthread_spinlock_t lock;
  CHECK_OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
  CHECK_OK(pthread_spin_lock(&lock));
  with_cancel_pending(
      [&] {
        CHECK_OK(pthread_spin_lock(&lock));
        CHECK_OK(pthread_spin_unlock(&lock));
      },
      [&] { CHECK_OK(pthread_spin_unlock(&lock)); });

  pthread_barrier_t barrier;
  CHECK_OK(pthread_barrier_init(&barrier, nullptr, 2));
  int here = 1;
  int there = 1;
  with_cancel_pending([&] { there = pthread_barrier_wait(&barrier); },
                      [&] { here = pthread_barrier_wait(&barrier); });
  CHECK_EQ(here + there, PTHREAD_BARRIER_SERIAL_THREAD);
}

void signaling() {
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  with_cancel_pending(
      [&] {
        CHECK_OK(pthread_cond_signal(&cond));
        CHECK_OK(pthread_cond_broadcast(&cond));
        CHECK_OK(pthread_cond_destroy(&cond));
      },
      [] {});
}

}  // namespace

int main() {
  check_begin();
  mutexes();
  rwlocks();
  spins_and_barriers();
  signaling();
  return check_end();
}
