// test_mutex_robust.cpp -- robust mutexes: EOWNERDEAD, consistent, ENOTRECOVERABLE, threads and
// processes.
#include "thread.h"

namespace {

void make_robust(pthread_mutex_t* mutex, int type, int shared, int protocol) {
  pthread_mutexattr_t attributes;
  CHECK_OK(pthread_mutexattr_init(&attributes));
  CHECK_OK(pthread_mutexattr_settype(&attributes, type));
  CHECK_OK(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
  CHECK_OK(pthread_mutexattr_setpshared(&attributes, shared));
  CHECK_OK(pthread_mutexattr_setprotocol(&attributes, protocol));
  CHECK_OK(pthread_mutex_init(mutex, &attributes));
}

void abandon(pthread_mutex_t* mutex) {
  CHECK_OK(in_other_thread([&] { return pthread_mutex_lock(mutex); }));
}

void recovers(pthread_mutex_t* mutex) {
  abandon(mutex);
  CHECK_ERR(pthread_mutex_lock(mutex), EOWNERDEAD);
  CHECK_OK(pthread_mutex_consistent(mutex));
  CHECK_ERR(pthread_mutex_consistent(mutex), EINVAL);
  CHECK_OK(pthread_mutex_unlock(mutex));
  abandon(mutex);
  CHECK_ERR(pthread_mutex_trylock(mutex), EOWNERDEAD);
  CHECK_OK(pthread_mutex_consistent(mutex));
  CHECK_OK(pthread_mutex_unlock(mutex));
  abandon(mutex);
  const timespec later = in_ms(CLOCK_MONOTONIC, 30000);
  CHECK_ERR(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &later), EOWNERDEAD);
  CHECK_OK(pthread_mutex_consistent(mutex));
  CHECK_OK(pthread_mutex_unlock(mutex));
  CHECK_OK(pthread_mutex_lock(mutex));
  CHECK_OK(pthread_mutex_unlock(mutex));
}

void stays_broken(pthread_mutex_t* mutex) {
  abandon(mutex);
  CHECK_ERR(pthread_mutex_lock(mutex), EOWNERDEAD);
  CHECK_OK(pthread_mutex_unlock(mutex));
  const timespec later = in_ms(CLOCK_REALTIME, 30000);
  CHECK_ERR(pthread_mutex_lock(mutex), ENOTRECOVERABLE);
  CHECK_ERR(pthread_mutex_timedlock(mutex, &later), ENOTRECOVERABLE);
  // Last: glibc's trylock keeps the lock word after saying so.
  CHECK_ERR(pthread_mutex_trylock(mutex), ENOTRECOVERABLE);
  CHECK_OK(pthread_mutex_destroy(mutex));
}

// A waiter that is already waiting when the owner dies gets the news.
void waiter_is_told(pthread_mutex_t* mutex) {
  int held = 0;
  int leave = 0;
  Thread owner([&] {
    CHECK_OK(pthread_mutex_lock(mutex));
    set_int(&held, 1);
    await_int(&leave, 1);
  });
  await_int(&held, 1);
  Thread waiter([&] {
    CHECK_ERR(pthread_mutex_lock(mutex), EOWNERDEAD);
    CHECK_OK(pthread_mutex_consistent(mutex));
    CHECK_OK(pthread_mutex_unlock(mutex));
  });
  sleep_ms(2);
  set_int(&leave, 1);
}

// A condition variable's wait reports the death of the owner that held the mutex meanwhile.
void told_by_cond_wait(pthread_mutex_t* mutex) {
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int waiting = 0;
  int told = 0;
  Thread waiter([&] {
    CHECK_OK(pthread_mutex_lock(mutex));
    set_int(&waiting, 1);
    int error = 0;
    while (error == 0) error = pthread_cond_wait(&cond, mutex);
    CHECK_ERR(error, EOWNERDEAD);
    CHECK_OK(pthread_mutex_consistent(mutex));
    CHECK_OK(pthread_mutex_unlock(mutex));
    set_int(&told, 1);
  });
  await_int(&waiting, 1);
  Thread([&] {
    CHECK_OK(pthread_mutex_lock(mutex));
    CHECK_OK(pthread_cond_signal(&cond));
  }).join();
  waiter.join();
  CHECK_EQ(told, 1);
  CHECK_OK(pthread_cond_destroy(&cond));
}

void owner_process_dies() {
  auto* mutex = static_cast<pthread_mutex_t*>(shared_memory(sizeof(pthread_mutex_t)));
  make_robust(mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PROCESS_SHARED, PTHREAD_PRIO_NONE);
  const pid_t child = check_fork();
  if (child == 0) {
    CHECK_OK(pthread_mutex_lock(mutex));
    kill(getpid(), SIGKILL);
  }
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  CHECK_ERR(pthread_mutex_lock(mutex), EOWNERDEAD);
  CHECK_OK(pthread_mutex_consistent(mutex));
  CHECK_OK(pthread_mutex_unlock(mutex));
  CHECK_OK(pthread_mutex_destroy(mutex));
}

}  // namespace

int main() {
  check_begin();
  for (const int protocol : {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT}) {
    for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
      for (const int type :
           {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
        pthread_mutex_t mutex;
        make_robust(&mutex, type, shared, protocol);
        recovers(&mutex);
        waiter_is_told(&mutex);
        told_by_cond_wait(&mutex);
        CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
        stays_broken(&mutex);
      }
    }
  }
  owner_process_dies();
  return check_end();
}
