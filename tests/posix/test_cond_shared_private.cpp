// test_cond_shared_private.cpp -- a process-shared condition variable with a private mutex, and the
// reverse, within one process: POSIX lets the attributes differ.
#include "thread.h"

namespace {

void take_turns(pthread_cond_t* cond, pthread_mutex_t* mutex) {
  int turn = 0;
  run_threads(2, [&](int self) {
    CHECK_OK(pthread_mutex_lock(mutex));
    for (int i = 0; i < 100; ++i) {
      while (turn != self)
        if (!CHECK_OK(pthread_cond_wait(cond, mutex))) _exit(check_end());
      turn = 1 - self;
      CHECK_OK(pthread_cond_signal(cond));
    }
    CHECK_OK(pthread_mutex_unlock(mutex));
  });
  CHECK_EQ(turn, 0);
  CHECK_OK(pthread_mutex_lock(mutex));
  const timespec past = {1, 0};
  CHECK_ERR(pthread_cond_timedwait(cond, mutex, &past), ETIMEDOUT);
  CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
  CHECK_OK(pthread_mutex_unlock(mutex));
}

}  // namespace

int main() {
  check_begin();
  pthread_mutexattr_t of_mutex;
  pthread_condattr_t of_cond;
  pthread_mutex_t shared_mutex;
  pthread_cond_t shared_cond;
  CHECK_OK(pthread_mutexattr_init(&of_mutex));
  CHECK_OK(pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED));
  CHECK_OK(pthread_mutex_init(&shared_mutex, &of_mutex));
  CHECK_OK(pthread_condattr_init(&of_cond));
  CHECK_OK(pthread_condattr_setpshared(&of_cond, PTHREAD_PROCESS_SHARED));
  CHECK_OK(pthread_cond_init(&shared_cond, &of_cond));
  pthread_mutex_t private_mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t private_cond = PTHREAD_COND_INITIALIZER;
  take_turns(&private_cond, &shared_mutex);
  take_turns(&shared_cond, &private_mutex);
  CHECK_OK(pthread_cond_destroy(&shared_cond));
  CHECK_OK(pthread_mutex_destroy(&shared_mutex));
  return check_end();
}
