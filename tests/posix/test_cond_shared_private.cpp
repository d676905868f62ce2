// test_cond_shared_private.cpp -- a process-shared condition variable with a private mutex, and the
// reverse, within one process: POSIX lets the attributes differ. With time-outs, cancellation, many
// waiters, and a child that was forked meanwhile.
#include "thread.h"

#include <atomic>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

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

// A canceled waiter's cleanup handlers run with the mutex held; the others' wake-ups are not lost.
void cancel_one_of_two(pthread_cond_t* cond, pthread_mutex_t* mutex) {
  struct waiter {
    pthread_cond_t* cond;
    pthread_mutex_t* mutex;
    int handled, woken, waiting;
  } shared{cond, mutex, 0, 0, 0};
  const auto wait = [&shared] {
    CHECK_OK(pthread_mutex_lock(shared.mutex));
    const auto handler = [](void* argument) {
      auto& w = *static_cast<waiter*>(argument);
      CHECK_ERR(pthread_mutex_trylock(w.mutex), EBUSY);
      ++w.handled;
      pthread_mutex_unlock(w.mutex);
    };
    pthread_cleanup_push(handler, &shared);
    ++shared.waiting;
    CHECK_OK(pthread_cond_wait(shared.cond, shared.mutex));
    pthread_cleanup_pop(0);
    ++shared.woken;
    CHECK_OK(pthread_mutex_unlock(shared.mutex));
  };
  Thread first(wait), second(wait);
  for (int both = 0; !both;) {
    CHECK_OK(pthread_mutex_lock(mutex));
    both = shared.waiting == 2;
    CHECK_OK(pthread_mutex_unlock(mutex));
    sched_yield();
  }
  CHECK_OK(pthread_cancel(first.handle()));
  CHECK(first.join() == PTHREAD_CANCELED);
  CHECK_OK(pthread_mutex_lock(mutex));
  CHECK_OK(pthread_cond_broadcast(cond));
  CHECK_OK(pthread_mutex_unlock(mutex));
  second.join();
  CHECK_EQ(shared.handled, 1);
  CHECK_EQ(shared.woken, 1);
}

// Children that are forked while another thread signals all the time can signal and wait too.
void fork_while_signaling(pthread_cond_t* cond, pthread_mutex_t* mutex) {
  std::atomic<bool> stop{false};
  Thread signaling([&] {
    while (!stop.load()) CHECK_OK(pthread_cond_signal(cond));
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a child that hangs is one that fails
      const timespec past = {1, 0};
      const bool well = pthread_cond_signal(cond) == 0 && pthread_mutex_lock(mutex) == 0 &&
                        pthread_cond_timedwait(cond, mutex, &past) == ETIMEDOUT;
      _exit(well ? 0 : 1);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
  }
  stop.store(true);
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
  const timespec later = in_ms(CLOCK_REALTIME, 100);
  CHECK_OK(pthread_mutex_lock(&private_mutex));
  for (const clockid_t clock : {CLOCK_THREAD_CPUTIME_ID, 12345, -1})
    CHECK_ERR(pthread_cond_clockwait(&shared_cond, &private_mutex, clock, &later), EINVAL);
  CHECK_OK(pthread_mutex_unlock(&private_mutex));
  cancel_one_of_two(&shared_cond, &private_mutex);
  fork_while_signaling(&shared_cond, &private_mutex);
  // All at once, many times: no wake-up is lost between releasing the mutex and waiting.
  int arrived = 0, generation = 0;
  run_threads(4, [&](int) {
    for (int round = 0; round < 500; ++round) {
      CHECK_OK(pthread_mutex_lock(&private_mutex));
      const int mine = generation;
      if (++arrived == 4) {
        arrived = 0;
        ++generation;
        CHECK_OK(pthread_cond_broadcast(&shared_cond));
      }
      while (generation == mine) CHECK_OK(pthread_cond_wait(&shared_cond, &private_mutex));
      CHECK_OK(pthread_mutex_unlock(&private_mutex));
    }
  });
  CHECK_EQ(generation, 500);
  CHECK_OK(pthread_cond_destroy(&shared_cond));
  CHECK_OK(pthread_mutex_destroy(&shared_mutex));
  return check_end();
}
