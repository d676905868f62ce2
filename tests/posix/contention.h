// contention.h -- a short, hard contention over every family of objects, for hostile surroundings.
#ifndef SYNCOPATE_TESTS_POSIX_CONTENTION_H
#define SYNCOPATE_TESTS_POSIX_CONTENTION_H

#include "thread.h"

struct Contention {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_barrier_t barrier{};
  volatile long counter = 0;
  volatile long guarded = 0;
  int turn = 0;
  int threads = 0;
};

// One thread's part; `self` in [0, threads). Returns: the number of errors.
inline int contend(Contention* shared, int self, int rounds) {
  int bad = 0;
  const int waited = pthread_barrier_wait(&shared->barrier);
  if (waited != 0 && waited != PTHREAD_BARRIER_SERIAL_THREAD) ++bad;
  for (int i = 0; i < rounds; ++i) {
    bad += pthread_mutex_lock(&shared->mutex) != 0;
    shared->counter = shared->counter + 1;
    bad += pthread_mutex_unlock(&shared->mutex) != 0;
    if (i % 4 == 0) {
      bad += pthread_rwlock_wrlock(&shared->rwlock) != 0;
      shared->guarded = shared->guarded + 1;
    } else {
      bad += pthread_rwlock_rdlock(&shared->rwlock) != 0;
    }
    bad += pthread_rwlock_unlock(&shared->rwlock) != 0;
    if (i % 8 != 0) continue;
    bad += pthread_mutex_lock(&shared->turns) != 0;
    while (shared->turn != self) bad += pthread_cond_wait(&shared->cond, &shared->turns) != 0;
    shared->turn = (self + 1) % shared->threads;
    bad += pthread_cond_broadcast(&shared->cond) != 0;
    bad += pthread_mutex_unlock(&shared->turns) != 0;
  }
  return bad;
}

// Threads that exist before `enter` changes the surroundings, and contend after it.
inline void contend_after(int threads, int rounds, const std::function<void()>& enter) {
  Contention shared;
  shared.threads = threads;
  int go = 0;
  int errors = 0;
  CHECK_OK(pthread_barrier_init(&shared.barrier, nullptr, static_cast<unsigned>(threads)));
  {
    std::deque<Thread> others;
    for (int i = 1; i < threads; ++i) {
      others.emplace_back([&, i] {
        await_int(&go, 1);
        add_int(&errors, contend(&shared, i, rounds));
      });
    }
    enter();
    set_int(&go, 1);
    add_int(&errors, contend(&shared, 0, rounds));
  }
  CHECK_EQ(errors, 0);
  CHECK_EQ(shared.counter, static_cast<long>(threads) * rounds);
  CHECK_EQ(shared.guarded, static_cast<long>(threads) * ((rounds + 3) / 4));
}

#endif
