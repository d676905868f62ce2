// test_cond_basic.cpp -- wait, signal, broadcast: who wakes, what is remembered (nothing), which
// mutex is held.
#include "thread.h"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void signals_without_waiters_are_forgotten() {
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  for (int i = 0; i < 5; ++i) {
    CHECK_OK(pthread_cond_signal(&cond));
    CHECK_OK(pthread_cond_broadcast(&cond));
  }
  CHECK_OK(pthread_mutex_lock(&mutex));
  const timespec soon = in_ms(CLOCK_REALTIME, 5);
  CHECK_ERR(pthread_cond_timedwait(&cond, &mutex, &soon), ETIMEDOUT);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  CHECK_OK(pthread_cond_destroy(&cond));
}

// `permits` are handed out one signal each: every signal must wake somebody who can take the
// permit.
void each_signal_wakes_one(bool hold_mutex_while_signaling) {
  constexpr int waiters = 6;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int waiting = 0;
  int permits = 0;
  int served = 0;
  std::deque<Thread> threads;
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&] {
      CHECK_OK(pthread_mutex_lock(&mutex));
      add_int(&waiting, 1);
      while (permits == 0) CHECK_OK(pthread_cond_wait(&cond, &mutex));
      --permits;
      CHECK_ERR(in_other_thread([] { return pthread_mutex_trylock(&mutex); }), EBUSY);
      CHECK_OK(pthread_mutex_unlock(&mutex));
      add_int(&served, 1);
    });
  }
  await_int(&waiting, waiters);
  for (int i = 1; i <= waiters; ++i) {
    CHECK_OK(pthread_mutex_lock(&mutex));
    ++permits;
    if (hold_mutex_while_signaling) CHECK_OK(pthread_cond_signal(&cond));
    CHECK_OK(pthread_mutex_unlock(&mutex));
    if (!hold_mutex_while_signaling) CHECK_OK(pthread_cond_signal(&cond));
    await_int(&served, i);
  }
  threads.clear();
  CHECK_OK(pthread_cond_destroy(&cond));
}

void broadcast_wakes_all(bool hold_mutex) {
  constexpr int waiters = 8;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  for (int round = 0; round < 20; ++round) {
    int waiting = 0;
    bool open = false;
    std::deque<Thread> threads;
    for (int i = 0; i < waiters; ++i) {
      threads.emplace_back([&] {
        CHECK_OK(pthread_mutex_lock(&mutex));
        add_int(&waiting, 1);
        while (!open) CHECK_OK(pthread_cond_wait(&cond, &mutex));
        CHECK_OK(pthread_mutex_unlock(&mutex));
      });
    }
    await_int(&waiting, waiters);
    CHECK_OK(pthread_mutex_lock(&mutex));
    open = true;
    if (hold_mutex) CHECK_OK(pthread_cond_broadcast(&cond));
    CHECK_OK(pthread_mutex_unlock(&mutex));
    if (!hold_mutex) CHECK_OK(pthread_cond_broadcast(&cond));
  }
  CHECK_OK(pthread_cond_destroy(&cond));
}

// A signal never wakes a thread that starts waiting later.
void later_waiter_is_not_woken() {
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int waiting = 0;
  bool open = false;
  Thread first([&] {
    CHECK_OK(pthread_mutex_lock(&mutex));
    set_int(&waiting, 1);
    while (!open) CHECK_OK(pthread_cond_wait(&cond, &mutex));
    CHECK_OK(pthread_mutex_unlock(&mutex));
  });
  await_int(&waiting, 1);
  CHECK_OK(pthread_mutex_lock(&mutex));
  open = true;
  CHECK_OK(pthread_cond_signal(&cond));
  const timespec soon = in_ms(CLOCK_REALTIME, 5);
  // The first waiter wakes and leaves; we started after the signal (a spurious wake-up is allowed).
  const int error = pthread_cond_timedwait(&cond, &mutex, &soon);
  CHECK(error == ETIMEDOUT || error == 0);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  first.join();
  CHECK_OK(pthread_cond_destroy(&cond));
}

// One condition variable, different mutexes one after the other.
void different_mutexes_in_turn() {
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  for (int round = 0; round < 3; ++round) {
    pthread_mutex_t local = PTHREAD_MUTEX_INITIALIZER;
    int waiting = 0;
    bool open = false;
    Thread waiter([&] {
      CHECK_OK(pthread_mutex_lock(&local));
      set_int(&waiting, 1);
      while (!open) CHECK_OK(pthread_cond_wait(&cond, &local));
      CHECK_OK(pthread_mutex_unlock(&local));
    });
    await_int(&waiting, 1);
    CHECK_OK(pthread_mutex_lock(&local));
    open = true;
    CHECK_OK(pthread_cond_signal(&cond));
    CHECK_OK(pthread_mutex_unlock(&local));
    waiter.join();
    CHECK_OK(pthread_mutex_destroy(&local));
  }
  CHECK_OK(pthread_cond_destroy(&cond));
}

void reinit_over_garbage() {
  pthread_cond_t cond;
  memset(static_cast<void*>(&cond), 0xa5, sizeof cond);
  CHECK_OK(pthread_cond_init(&cond, nullptr));
  CHECK_OK(pthread_mutex_lock(&mutex));
  const timespec soon = in_ms(CLOCK_REALTIME, 2);
  CHECK_ERR(pthread_cond_timedwait(&cond, &mutex, &soon), ETIMEDOUT);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  CHECK_OK(pthread_cond_destroy(&cond));
}

}  // namespace

int main() {
  check_begin();
  signals_without_waiters_are_forgotten();
  for (const bool hold : {true, false}) {
    each_signal_wakes_one(hold);
    broadcast_wakes_all(hold);
  }
  later_waiter_is_not_woken();
  different_mutexes_in_turn();
  reinit_over_garbage();
  CHECK_OK(pthread_mutex_destroy(&mutex));
  return check_end();
}
