// test_cond_timed.cpp -- timedwait and clockwait: both clocks, past deadlines, bad arguments,
// mutex held after.
#include "thread.h"

namespace {

struct Waiting {
  const char* name;
  clockid_t attribute;  // the condition variable's own clock
  clockid_t clock;      // the clock the deadline is on
  int (*wait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
};

int timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* t) {
  return pthread_cond_timedwait(c, m, t);
}
int clockwait_realtime(pthread_cond_t* c, pthread_mutex_t* m, const timespec* t) {
  return pthread_cond_clockwait(c, m, CLOCK_REALTIME, t);
}
int clockwait_monotonic(pthread_cond_t* c, pthread_mutex_t* m, const timespec* t) {
  return pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, t);
}

const Waiting waitings[] = {
    {"timedwait", CLOCK_REALTIME, CLOCK_REALTIME, timedwait},
    {"timedwait, attribute monotonic", CLOCK_MONOTONIC, CLOCK_MONOTONIC, timedwait},
    {"clockwait realtime", CLOCK_REALTIME, CLOCK_REALTIME, clockwait_realtime},
    {"clockwait realtime, attribute monotonic", CLOCK_MONOTONIC, CLOCK_REALTIME,
     clockwait_realtime},
    {"clockwait monotonic", CLOCK_REALTIME, CLOCK_MONOTONIC, clockwait_monotonic},
    {"clockwait monotonic, attribute same", CLOCK_MONOTONIC, CLOCK_MONOTONIC, clockwait_monotonic},
};

pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

void make(pthread_cond_t* cond, clockid_t clock) {
  pthread_condattr_t attributes;
  clockid_t read = -1;
  CHECK_OK(pthread_condattr_init(&attributes));
  CHECK_OK(pthread_condattr_setclock(&attributes, clock));
  CHECK_OK(pthread_condattr_getclock(&attributes, &read));
  CHECK_EQ(read, clock);
  CHECK_ERR(pthread_condattr_setclock(&attributes, CLOCK_PROCESS_CPUTIME_ID), EINVAL);
  CHECK_OK(pthread_cond_init(cond, &attributes));
  CHECK_OK(pthread_condattr_destroy(&attributes));
}

// An errorcheck mutex tells its owner from everybody else.
void expect_held_by_me() { CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK); }

void times_out(const Waiting& waiting, pthread_cond_t* cond) {
  CHECK_OK(pthread_mutex_lock(&mutex));
  const timespec past_times[] = {{0, 0}, {-1, 0}, {1, 999999999}, in_ms(waiting.clock, -1)};
  for (const timespec& past : past_times) {
    CHECK_ERR(waiting.wait(cond, &mutex, &past), ETIMEDOUT);
    expect_held_by_me();
  }
  for (const long wait : {1, 6}) {
    const timespec deadline = in_ms(waiting.clock, wait);
    int error = 0;
    while (error == 0) error = waiting.wait(cond, &mutex, &deadline);
    CHECK_ERR(error, ETIMEDOUT);
    CHECK(has_passed(waiting.clock, &deadline));
    expect_held_by_me();
  }
  const timespec bad_times[] = {{0, -1}, {0, 1000000000}, {1LL << 40, -1}, {1LL << 40, 1000000000}};
  for (const timespec& bad : bad_times) {
    CHECK_ERR(waiting.wait(cond, &mutex, &bad), EINVAL);
    expect_held_by_me();
  }
  CHECK_OK(pthread_mutex_unlock(&mutex));
}

void woken_before_the_deadline(const Waiting& waiting, pthread_cond_t* cond) {
  bool open = false;
  int inside = 0;
  Thread waiter([&] {
    CHECK_OK(pthread_mutex_lock(&mutex));
    set_int(&inside, 1);
    const timespec deadline = in_ms(waiting.clock, 50000);
    while (!open) CHECK_OK(waiting.wait(cond, &mutex, &deadline));
    expect_held_by_me();
    CHECK_OK(pthread_mutex_unlock(&mutex));
  });
  await_int(&inside, 1);
  CHECK_OK(pthread_mutex_lock(&mutex));
  open = true;
  CHECK_OK(pthread_cond_signal(cond));
  CHECK_OK(pthread_mutex_unlock(&mutex));
}

// The deadline passes while another thread holds the mutex: the wait returns only once it is free.
void timeout_while_the_mutex_is_taken(const Waiting& waiting, pthread_cond_t* cond) {
  int inside = 0;
  volatile int holder = 0;
  Thread waiter([&] {
    CHECK_OK(pthread_mutex_lock(&mutex));
    set_int(&inside, 1);
    const timespec deadline = in_ms(waiting.clock, 3);
    int error = 0;
    while (error == 0) error = waiting.wait(cond, &mutex, &deadline);
    holder = 2;
    CHECK_ERR(error, ETIMEDOUT);
    expect_held_by_me();
    CHECK_OK(pthread_mutex_unlock(&mutex));
  });
  await_int(&inside, 1);
  CHECK_OK(pthread_mutex_lock(&mutex));
  holder = 1;
  sleep_ms(8);
  CHECK_EQ(holder, 1);
  CHECK_OK(pthread_mutex_unlock(&mutex));
}

// Waiters of one condition variable on different clocks, some giving up, some woken.
void clocks_together(clockid_t attribute) {
  pthread_cond_t cond;
  make(&cond, attribute);
  bool open = false;
  int gone = 0;
  {
    std::deque<Thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const bool patient = i >= 4;
        const clockid_t clock = i % 2 != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        CHECK_OK(pthread_mutex_lock(&mutex));
        const timespec deadline = in_ms(clock, patient ? 50000 : 2 + i);
        int error = 0;
        while (!open && error == 0) error = pthread_cond_clockwait(&cond, &mutex, clock, &deadline);
        CHECK_ERR(error, patient ? 0 : ETIMEDOUT);
        expect_held_by_me();
        CHECK_OK(pthread_mutex_unlock(&mutex));
        if (!patient) add_int(&gone, 1);
      });
    }
    await_int(&gone, 4);
    CHECK_OK(pthread_mutex_lock(&mutex));
    open = true;
    CHECK_OK(pthread_cond_broadcast(&cond));
    CHECK_OK(pthread_mutex_unlock(&mutex));
  }
  CHECK_OK(pthread_cond_destroy(&cond));
}

void bad_clocks() {
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  const timespec later = in_ms(CLOCK_REALTIME, 100);
  CHECK_OK(pthread_mutex_lock(&mutex));
  for (const clockid_t clock : {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, 12345, -1}) {
    CHECK_ERR(pthread_cond_clockwait(&cond, &mutex, clock, &later), EINVAL);
    expect_held_by_me();
  }
  CHECK_OK(pthread_mutex_unlock(&mutex));
}

}  // namespace

int main() {
  check_begin();
  for (const Waiting& waiting : waitings) {
    pthread_cond_t cond;
    make(&cond, waiting.attribute);
    times_out(waiting, &cond);
    woken_before_the_deadline(waiting, &cond);
    timeout_while_the_mutex_is_taken(waiting, &cond);
    CHECK_OK(pthread_cond_destroy(&cond));
  }
  clocks_together(CLOCK_REALTIME);
  clocks_together(CLOCK_MONOTONIC);
  bad_clocks();
  return check_end();
}
