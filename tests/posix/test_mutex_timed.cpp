// test_mutex_timed.cpp -- timedlock and clocklock: deadlines on both clocks, never early, bad
// arguments.
#include "mutex_kinds.h"
#include "thread.h"

namespace {

struct Form {
  const char* name;
  clockid_t clock;
  int (*lock)(pthread_mutex_t*, const timespec*);
};

const Form forms[] = {
    {"timedlock", CLOCK_REALTIME,
     [](pthread_mutex_t* m, const timespec* t) { return pthread_mutex_timedlock(m, t); }},
    {"clocklock realtime", CLOCK_REALTIME,
     [](pthread_mutex_t* m, const timespec* t) {
       return pthread_mutex_clocklock(m, CLOCK_REALTIME, t);
     }},
    {"clocklock monotonic", CLOCK_MONOTONIC,
     [](pthread_mutex_t* m, const timespec* t) {
       return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, t);
     }},
};

const timespec bad_times[] = {{0, -1}, {0, 1000000000}, {1LL << 40, -1}, {1LL << 40, 2000000000}};
const timespec past_times[] = {{0, 0}, {1, 999999999}, {-1, 0}, {-1000000, 5}};

// A free mutex is taken whatever the time says: the validity of the time does not matter.
void on_a_free_mutex(pthread_mutex_t* mutex, const Form& form) {
  for (const timespec& time : past_times) {
    CHECK_OK(form.lock(mutex, &time));
    CHECK_OK(pthread_mutex_unlock(mutex));
  }
  for (const timespec& time : bad_times) {
    CHECK_OK(form.lock(mutex, &time));
    CHECK_OK(pthread_mutex_unlock(mutex));
  }
}

void on_a_held_mutex(pthread_mutex_t* mutex, const Form& form) {
  CHECK_OK(pthread_mutex_lock(mutex));
  Thread([&] {
    for (const timespec& time : past_times) CHECK_ERR(form.lock(mutex, &time), ETIMEDOUT);
    for (const timespec& time : bad_times) CHECK_ERR(form.lock(mutex, &time), EINVAL);
    for (const long wait : {1, 7}) {
      const timespec deadline = in_ms(form.clock, wait);
      CHECK_ERR(form.lock(mutex, &deadline), ETIMEDOUT);
      CHECK(has_passed(form.clock, &deadline));
    }
  }).join();
  CHECK_OK(pthread_mutex_unlock(mutex));
  // Given-up waiters must not be handed the mutex later.
  CHECK_OK(pthread_mutex_trylock(mutex));
  CHECK_OK(pthread_mutex_unlock(mutex));
}

// A waiter with a far deadline gets the mutex when it is released.
void released_in_time(pthread_mutex_t* mutex, const Form& form) {
  CHECK_OK(pthread_mutex_lock(mutex));
  Thread waiter([&] {
    const timespec deadline = in_ms(form.clock, 50000);
    CHECK_OK(form.lock(mutex, &deadline));
    CHECK_OK(pthread_mutex_unlock(mutex));
  });
  sleep_ms(3);
  CHECK_OK(pthread_mutex_unlock(mutex));
}

void bad_clocks() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const timespec later = in_ms(CLOCK_REALTIME, 1000);
  for (const clockid_t clock : {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, 12345, -1}) {
    CHECK_ERR(pthread_mutex_clocklock(&mutex, clock, &later), EINVAL);
    CHECK_OK(pthread_mutex_lock(&mutex));
    CHECK_ERR(pthread_mutex_clocklock(&mutex, clock, &later), EINVAL);
    CHECK_OK(pthread_mutex_unlock(&mutex));
  }
}

// Waiters that give up, in the middle of a queue of waiters that do not.
void mixed_queue(pthread_mutex_t* mutex, const Form& form) {
  int taken = 0;
  int timed_out = 0;
  CHECK_OK(pthread_mutex_lock(mutex));
  {
    std::deque<Thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const timespec deadline = in_ms(form.clock, i % 2 != 0 ? 50000 : 2 + i);
        const int error = form.lock(mutex, &deadline);
        if (error == 0) {
          add_int(&taken, 1);
          CHECK_OK(pthread_mutex_unlock(mutex));
        } else {
          CHECK_ERR(error, ETIMEDOUT);
          CHECK(i % 2 == 0);
          add_int(&timed_out, 1);
        }
      });
    }
    while (get_int(&timed_out) < 4) usleep(200);
    CHECK_OK(pthread_mutex_unlock(mutex));
  }
  CHECK_EQ(taken, 4);
}

}  // namespace

int main() {
  check_begin();
  for (const MutexKind& kind : mutex_kinds) {
    pthread_mutex_t mutex;
    make_mutex(&mutex, kind, Making::attributes);
    for (const Form& form : forms) {
      on_a_free_mutex(&mutex, form);
      on_a_held_mutex(&mutex, form);
      released_in_time(&mutex, form);
      mixed_queue(&mutex, form);
    }
    CHECK_OK(pthread_mutex_destroy(&mutex));
  }
  bad_clocks();
  return check_end();
}
