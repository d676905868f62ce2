// test_cond_mutex_kinds.cpp -- condition waits with every kind of mutex, owner errors, recursion
// depth kept.
#include "mutex_kinds.h"
#include "thread.h"

namespace {

void wait_and_wake(const MutexKind& kind) {
  pthread_mutex_t mutex;
  make_mutex(&mutex, kind, Making::static_initializer);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int turn = 0;
  run_threads(3, [&](int self) {
    CHECK_OK(pthread_mutex_lock(&mutex));
    for (int i = 0; i < 100; ++i) {
      while (turn != self) CHECK_OK(pthread_cond_wait(&cond, &mutex));
      turn = (turn + 1) % 3;
      CHECK_OK(pthread_cond_broadcast(&cond));
    }
    CHECK_OK(pthread_mutex_unlock(&mutex));
  });
  // After the wait the mutex is owned as deep as before: no more, no less.
  if (kind.type == PTHREAD_MUTEX_RECURSIVE || kind.type == PTHREAD_MUTEX_ERRORCHECK)
    CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
  CHECK_OK(pthread_cond_destroy(&cond));
  CHECK_OK(pthread_mutex_destroy(&mutex));
}

// During the wait the mutex is free for others; afterwards it is the waiter's.
void mutex_is_free_during_the_wait(const MutexKind& kind) {
  pthread_mutex_t mutex;
  make_mutex(&mutex, kind, Making::attributes);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool open = false;
  int inside = 0;
  Thread waiter([&] {
    CHECK_OK(pthread_mutex_lock(&mutex));
    set_int(&inside, 1);
    while (!open) CHECK_OK(pthread_cond_wait(&cond, &mutex));
    CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(&mutex); }), EBUSY);
    CHECK_OK(pthread_mutex_unlock(&mutex));
  });
  await_int(&inside, 1);
  CHECK_OK(pthread_mutex_lock(&mutex));
  // A mutex that waiters of a condition variable gave up is not "in use" for destroy's error code
  // (glibc counts them as users): nothing is said about it, so nothing is checked here.
  open = true;
  CHECK_OK(pthread_cond_signal(&cond));
  CHECK_OK(pthread_mutex_unlock(&mutex));
  waiter.join();
  CHECK_OK(pthread_mutex_destroy(&mutex));
}

void not_held() {
  const timespec past = {1, 0};
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  for (const MutexKind& kind : mutex_kinds) {
    if (kind.type != PTHREAD_MUTEX_ERRORCHECK && kind.type != PTHREAD_MUTEX_RECURSIVE) continue;
    pthread_mutex_t mutex;
    make_mutex(&mutex, kind, Making::attributes);
    CHECK_ERR(pthread_cond_wait(&cond, &mutex), EPERM);
    CHECK_ERR(pthread_cond_timedwait(&cond, &mutex, &past), EPERM);
    CHECK_ERR(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past), EPERM);
    CHECK_OK(pthread_mutex_lock(&mutex));
    CHECK_ERR(in_other_thread([&] { return pthread_cond_wait(&cond, &mutex); }), EPERM);
    CHECK_OK(pthread_mutex_unlock(&mutex));
  }
  // The refused waits left no trace: destroy does not wait for them.
  CHECK_OK(pthread_cond_destroy(&cond));
}

// POSIX leaves open whether a wait at depth 2 frees the mutex, but not what the depth is
// afterwards.
void recursion_depth_is_kept() {
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  for (int depth = 1; depth <= 3; ++depth) {
    pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    for (int i = 0; i < depth; ++i) CHECK_OK(pthread_mutex_lock(&mutex));
    const timespec soon = in_ms(CLOCK_REALTIME, 2);
    CHECK_ERR(pthread_cond_timedwait(&cond, &mutex, &soon), ETIMEDOUT);
    for (int i = 0; i < depth; ++i) {
      CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(&mutex); }), EBUSY);
      CHECK_OK(pthread_mutex_unlock(&mutex));
    }
    CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
    CHECK_OK(pthread_mutex_destroy(&mutex));
  }
  CHECK_OK(pthread_cond_destroy(&cond));
}

}  // namespace

int main() {
  check_begin();
  for (const MutexKind& kind : mutex_kinds) {
    wait_and_wake(kind);
    mutex_is_free_during_the_wait(kind);
  }
  not_held();
  recursion_depth_is_kept();
  return check_end();
}
