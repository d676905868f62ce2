// test_rwlock_timed.cpp -- timed and clock forms of rwlocks: deadlines, never early, bad arguments.
#include "thread.h"

namespace {

struct Form {
  const char* name;
  bool writes;
  clockid_t clock;
  int (*lock)(pthread_rwlock_t*, const timespec*);
};

const Form forms[] = {
    {"timedrdlock", false, CLOCK_REALTIME,
     [](pthread_rwlock_t* l, const timespec* t) { return pthread_rwlock_timedrdlock(l, t); }},
    {"timedwrlock", true, CLOCK_REALTIME,
     [](pthread_rwlock_t* l, const timespec* t) { return pthread_rwlock_timedwrlock(l, t); }},
    {"clockrdlock realtime", false, CLOCK_REALTIME,
     [](pthread_rwlock_t* l, const timespec* t) {
       return pthread_rwlock_clockrdlock(l, CLOCK_REALTIME, t);
     }},
    {"clockwrlock realtime", true, CLOCK_REALTIME,
     [](pthread_rwlock_t* l, const timespec* t) {
       return pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, t);
     }},
    {"clockrdlock monotonic", false, CLOCK_MONOTONIC,
     [](pthread_rwlock_t* l, const timespec* t) {
       return pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, t);
     }},
    {"clockwrlock monotonic", true, CLOCK_MONOTONIC,
     [](pthread_rwlock_t* l, const timespec* t) {
       return pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, t);
     }},
};

const timespec past_times[] = {{0, 0}, {1, 999999999}, {-1, 0}};
const timespec bad_times[] = {{0, -1}, {1LL << 40, -1}, {1LL << 40, 1000000000}};

void on_a_free_lock(pthread_rwlock_t* lock, const Form& form) {
  for (const timespec& time : past_times) {
    CHECK_OK(form.lock(lock, &time));
    CHECK_OK(pthread_rwlock_unlock(lock));
  }
  // POSIX: validity "need not be checked if the lock can be immediately acquired"; glibc does.
  for (const timespec& time : bad_times) CHECK_ERR(form.lock(lock, &time), EINVAL);
}

void on_a_held_lock(pthread_rwlock_t* lock, const Form& form, bool held_for_writing) {
  if (!held_for_writing && !form.writes) return;  // readers share
  CHECK_OK(held_for_writing ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock));
  Thread([&] {
    for (const timespec& time : past_times) CHECK_ERR(form.lock(lock, &time), ETIMEDOUT);
    for (const timespec& time : bad_times) CHECK_ERR(form.lock(lock, &time), EINVAL);
    for (const long wait : {1, 6}) {
      const timespec deadline = in_ms(form.clock, wait);
      CHECK_ERR(form.lock(lock, &deadline), ETIMEDOUT);
      CHECK(has_passed(form.clock, &deadline));
    }
  }).join();
  CHECK_OK(pthread_rwlock_unlock(lock));
  // Waiters that gave up are forgotten: both modes are free again.
  CHECK_OK(pthread_rwlock_tryrdlock(lock));
  CHECK_OK(pthread_rwlock_unlock(lock));
  CHECK_OK(pthread_rwlock_trywrlock(lock));
  CHECK_OK(pthread_rwlock_unlock(lock));
}

void released_in_time(pthread_rwlock_t* lock, const Form& form) {
  CHECK_OK(pthread_rwlock_wrlock(lock));
  Thread waiter([&] {
    const timespec deadline = in_ms(form.clock, 50000);
    CHECK_OK(form.lock(lock, &deadline));
    CHECK_OK(pthread_rwlock_unlock(lock));
  });
  sleep_ms(2);
  CHECK_OK(pthread_rwlock_unlock(lock));
}

// A writer that gives up lets the readers in which waited behind it.
void writer_gives_up(pthread_rwlock_t* lock) {
  CHECK_OK(pthread_rwlock_rdlock(lock));
  int tries = 0;
  int inside = 0;
  {
    Thread writer([&] {
      const timespec deadline = in_ms(CLOCK_MONOTONIC, 10);
      set_int(&tries, 1);
      CHECK_ERR(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &deadline), ETIMEDOUT);
    });
    await_int(&tries, 1);
    sleep_ms(1);
    Thread reader([&] {
      CHECK_OK(pthread_rwlock_rdlock(lock));
      set_int(&inside, 1);
      CHECK_OK(pthread_rwlock_unlock(lock));
    });
    await_int(&inside, 1);  // while the first reader still holds it
  }
  CHECK_OK(pthread_rwlock_unlock(lock));
}

void bad_clocks(pthread_rwlock_t* lock) {
  const timespec later = in_ms(CLOCK_REALTIME, 1000);
  CHECK_OK(pthread_rwlock_wrlock(lock));
  Thread([&] {
    for (const clockid_t clock : {CLOCK_PROCESS_CPUTIME_ID, 12345, -1}) {
      CHECK_ERR(pthread_rwlock_clockrdlock(lock, clock, &later), EINVAL);
      CHECK_ERR(pthread_rwlock_clockwrlock(lock, clock, &later), EINVAL);
    }
  }).join();
  CHECK_OK(pthread_rwlock_unlock(lock));
}

}  // namespace

int main() {
  check_begin();
  pthread_rwlock_t fair = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_t writer_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  for (pthread_rwlock_t* lock : {&fair, &writer_first}) {
    for (const Form& form : forms) {
      on_a_free_lock(lock, form);
      on_a_held_lock(lock, form, true);
      on_a_held_lock(lock, form, false);
      released_in_time(lock, form);
    }
    writer_gives_up(lock);
    bad_clocks(lock);
    CHECK_OK(pthread_rwlock_destroy(lock));
  }
  return check_end();
}
