// test_signals.cpp -- signals interrupt waiters without SA_RESTART: EINTR never comes out of any
// call.
#include "thread.h"

namespace {

volatile sig_atomic_t handled = 0;
void on_signal(int) { handled = handled + 1; }

void install() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: every interrupted system call says EINTR
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
}

// Runs `wait` in a thread under a rain of signals until `release` lets it go. Returns: its result.
int interrupted(const std::function<int()>& wait, const std::function<void()>& release) {
  int result = -1;
  int done = 0;
  int started = 0;
  Thread waiter([&] {
    set_int(&started, 1);
    result = wait();
    set_int(&done, 1);
  });
  await_int(&started, 1);
  for (int i = 0; i < 25; ++i) {
    pthread_kill(waiter.handle(), SIGUSR1);
    usleep(150);
  }
  release();
  // The thread may still be waiting: keep interrupting it while it ends.
  while (get_int(&done) == 0) {
    pthread_kill(waiter.handle(), SIGUSR1);
    usleep(150);
  }
  waiter.join();
  return result;
}

void mutexes() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const auto release = [&] { CHECK_OK(pthread_mutex_unlock(&mutex)); };
  CHECK_OK(pthread_mutex_lock(&mutex));
  CHECK_ERR(interrupted([&] { return pthread_mutex_lock(&mutex); }, release), 0);
  CHECK_ERR(interrupted(
                [&] {
                  const timespec deadline = in_ms(CLOCK_REALTIME, 50000);
                  return pthread_mutex_timedlock(&mutex, &deadline);
                },
                release),
            0);
  CHECK_ERR(interrupted(
                [&] {
                  const timespec deadline = in_ms(CLOCK_MONOTONIC, 3);
                  const int error = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &deadline);
                  CHECK(has_passed(CLOCK_MONOTONIC, &deadline));
                  return error;
                },
                [] {}),
            ETIMEDOUT);
  CHECK_OK(pthread_mutex_unlock(&mutex));
}

void conditions() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool open = false;
  const auto release = [&] {
    CHECK_OK(pthread_mutex_lock(&mutex));
    open = true;
    CHECK_OK(pthread_cond_signal(&cond));
    CHECK_OK(pthread_mutex_unlock(&mutex));
  };
  for (const bool timed : {false, true}) {
    open = false;
    CHECK_ERR(interrupted(
                  [&] {
                    CHECK_OK(pthread_mutex_lock(&mutex));
                    const timespec deadline = in_ms(CLOCK_REALTIME, 50000);
                    int error = 0;
                    while (!open && error == 0)
                      error = timed ? pthread_cond_timedwait(&cond, &mutex, &deadline)
                                    : pthread_cond_wait(&cond, &mutex);
                    CHECK_OK(pthread_mutex_unlock(&mutex));
                    return error;
                  },
                  release),
              0);
  }
  CHECK_ERR(interrupted(
                [&] {
                  CHECK_OK(pthread_mutex_lock(&mutex));
                  const timespec deadline = in_ms(CLOCK_MONOTONIC, 3);
                  int error = 0;
                  while (error == 0)
                    error = pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &deadline);
                  CHECK(has_passed(CLOCK_MONOTONIC, &deadline));
                  CHECK_OK(pthread_mutex_unlock(&mutex));
                  return error;
                },
                [] {}),
            ETIMEDOUT);
}

void rwlocks_and_barriers() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (const bool write : {false, true}) {
    CHECK_OK(pthread_rwlock_wrlock(&lock));
    CHECK_ERR(interrupted(
                  [&] {
                    const int error =
                        write ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock);
                    return error != 0 ? error : pthread_rwlock_unlock(&lock);
                  },
                  [&] { CHECK_OK(pthread_rwlock_unlock(&lock)); }),
              0);
  }
  pthread_barrier_t barrier;
  CHECK_OK(pthread_barrier_init(&barrier, nullptr, 2));
  int here = 1;
  const int there = interrupted([&] { return pthread_barrier_wait(&barrier); },
                                [&] { here = pthread_barrier_wait(&barrier); });
  CHECK_EQ(here + there, PTHREAD_BARRIER_SERIAL_THREAD);
  CHECK_OK(pthread_barrier_destroy(&barrier));
}

// A thread stopped by a signal at any point inside lock and unlock must not break the others'
// exclusion.
void under_contention() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  volatile long counter = 0;
  int left = 3;
  int errors = 0;
  std::deque<Thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      int bad = 0;
      for (int round = 0; round < 20000; ++round) {
        bad |= pthread_mutex_lock(&mutex);
        counter = counter + 1;
        bad |= pthread_mutex_unlock(&mutex);
      }
      if (bad != 0) add_int(&errors, 1);
      add_int(&left, -1);
    });
  }
  while (get_int(&left) > 0) {
    for (const Thread& thread : threads) pthread_kill(thread.handle(), SIGUSR1);
    usleep(100);
  }
  threads.clear();
  CHECK_EQ(counter, 60000);
  CHECK_EQ(errors, 0);
}

}  // namespace

int main() {
  check_begin();
  install();
  mutexes();
  conditions();
  rwlocks_and_barriers();
  under_contention();
  CHECK(handled > 0);
  return check_end();
}
