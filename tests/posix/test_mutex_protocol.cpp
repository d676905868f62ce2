// test_mutex_protocol.cpp -- priority inheritance and protection pass through, with their errors.
#include <sched.h>

#include "mutex_kinds.h"
#include "thread.h"

namespace {

void make(pthread_mutex_t* mutex, int type, int protocol) {
  pthread_mutexattr_t attributes;
  CHECK_OK(pthread_mutexattr_init(&attributes));
  CHECK_OK(pthread_mutexattr_settype(&attributes, type));
  CHECK_OK(pthread_mutexattr_setprotocol(&attributes, protocol));
  CHECK_OK(pthread_mutex_init(mutex, &attributes));
}

void inherit_table(const MutexKind& kind) {
  pthread_mutex_t mutex;
  make(&mutex, kind.type, PTHREAD_PRIO_INHERIT);
  const timespec past = {1, 0};
  const timespec bad = {1, 1000000000};
  CHECK_OK(pthread_mutex_timedlock(&mutex, &past));
  Thread([&] {
    CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
    CHECK_ERR(pthread_mutex_timedlock(&mutex, &past), ETIMEDOUT);
    CHECK_ERR(pthread_mutex_timedlock(&mutex, &bad), EINVAL);
    const timespec soon = in_ms(CLOCK_REALTIME, 3);
    CHECK_ERR(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &soon), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &soon));
    // The kernel's priority-inheriting futex, for every kind, refuses a stranger's unlock.
    if (kind.type == PTHREAD_MUTEX_RECURSIVE || kind.type == PTHREAD_MUTEX_ERRORCHECK)
      CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
  }).join();
  if (kind.type == PTHREAD_MUTEX_RECURSIVE) {
    CHECK_OK(pthread_mutex_lock(&mutex));
    CHECK_OK(pthread_mutex_unlock(&mutex));
  } else if (kind.type == PTHREAD_MUTEX_ERRORCHECK) {
    CHECK_ERR(pthread_mutex_lock(&mutex), EDEADLK);
  } else {
    CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
  }
  CHECK_ERR(pthread_mutex_destroy(&mutex), EBUSY);
  CHECK_OK(pthread_mutex_unlock(&mutex));

  volatile long counter = 0;
  run_threads(4, [&](int) {
    int errors = 0;
    for (int i = 0; i < 500; ++i) {
      errors += pthread_mutex_lock(&mutex) != 0;
      counter = counter + 1;
      errors += pthread_mutex_unlock(&mutex) != 0;
    }
    CHECK_EQ(errors, 0);
  });
  CHECK_EQ(counter, 2000);
  CHECK_OK(pthread_mutex_destroy(&mutex));
}

// What a time means that is not valid, or lies before 1970, differs from kind to kind: the kernel
// refuses both of mutexes that inherit priorities.
void times_table() {
  static const struct {
    const char* name;
    int protocol, robust, shared;
    int before_1970, all_negative;
  } rows[] = {
      {"private", PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0, ETIMEDOUT, ETIMEDOUT},
      {"shared", PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 1, ETIMEDOUT, ETIMEDOUT},
      {"robust", PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, 0, ETIMEDOUT, EINVAL},
      {"shared, robust", PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, 1, ETIMEDOUT, EINVAL},
      {"inherits", PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, 0, EINVAL, EINVAL},
      {"inherits, shared", PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, 1, EINVAL, EINVAL},
      {"inherits, robust", PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST, 0, EINVAL, EINVAL},
  };
  const timespec past = {0, 1}, before_1970 = {-1, 5}, all_negative = {-1, -1};
  const timespec too_many = {1L << 40, 1000000000};
  for (const MutexKind& kind : mutex_kinds) {
    for (const auto& row : rows) {
      pthread_mutexattr_t attributes;
      CHECK_OK(pthread_mutexattr_init(&attributes));
      CHECK_OK(pthread_mutexattr_settype(&attributes, kind.type));
      CHECK_OK(pthread_mutexattr_setprotocol(&attributes, row.protocol));
      CHECK_OK(pthread_mutexattr_setrobust(&attributes, row.robust));
      CHECK_OK(pthread_mutexattr_setpshared(&attributes, row.shared));
      pthread_mutex_t mutex;
      CHECK_OK(pthread_mutex_init(&mutex, &attributes));
      CHECK_OK(pthread_mutex_lock(&mutex));
      Thread([&] {
        const auto expect = [&](const timespec& at, int error) {
          CHECK_ERR(pthread_mutex_timedlock(&mutex, &at), error);
          CHECK_ERR(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &at), error);
          CHECK_ERR(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &at), error);
          CHECK_ERR(pthread_mutex_clocklock(&mutex, CLOCK_BOOTTIME, &at), EINVAL);
        };
        expect(past, ETIMEDOUT);
        expect(before_1970, row.before_1970);
        expect(all_negative, row.all_negative);
        expect(too_many, EINVAL);
      }).join();
      CHECK_OK(pthread_mutex_unlock(&mutex));
      CHECK_OK(pthread_mutex_destroy(&mutex));
    }
  }
}

void inherit_with_condition() {
  pthread_mutex_t mutex;
  make(&mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int turn = 0;
  run_threads(2, [&](int self) {
    CHECK_OK(pthread_mutex_lock(&mutex));
    for (int i = 0; i < 200; ++i) {
      while (turn != self) CHECK_OK(pthread_cond_wait(&cond, &mutex));
      turn = 1 - self;
      CHECK_OK(pthread_cond_broadcast(&cond));
    }
    CHECK_OK(pthread_mutex_unlock(&mutex));
  });
  CHECK_OK(pthread_cond_destroy(&cond));
  CHECK_OK(pthread_mutex_destroy(&mutex));
}

// Raising the priority needs a privilege; with it the ceiling is in force. Without it the C library
// may refuse the first call, which asks what is allowed, and let the next one pass.
void protect_table() {
  pthread_mutex_t mutex;
  make(&mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT);
  int ceiling = -1;
  CHECK_OK(pthread_mutex_getprioceiling(&mutex, &ceiling));
  CHECK_EQ(ceiling, sched_get_priority_min(SCHED_FIFO));
  const sched_param real_time = {1};
  const bool allowed = pthread_setschedparam(pthread_self(), SCHED_FIFO, &real_time) == 0;
  const int locked = pthread_mutex_lock(&mutex);
  if (allowed) CHECK_ERR(locked, 0);
  if (locked == 0) {
    CHECK_ERR(in_other_thread([&] {
                const int error = pthread_mutex_trylock(&mutex);
                return error == EINVAL || error == EPERM ? EBUSY : error;
              }),
              EBUSY);
    CHECK_OK(pthread_mutex_unlock(&mutex));
    int old = -1;
    CHECK_OK(pthread_mutex_setprioceiling(&mutex, 2, &old));
    CHECK_EQ(old, ceiling);
    CHECK_OK(pthread_mutex_getprioceiling(&mutex, &ceiling));
    CHECK_EQ(ceiling, 2);
  } else {
    const int tried = pthread_mutex_trylock(&mutex);
    if (tried == 0) {
      CHECK_OK(pthread_mutex_unlock(&mutex));
    } else {
      CHECK_ERR(tried, locked);
    }
  }
  if (allowed) {
    // A thread above the ceiling may not take the mutex.
    const sched_param above = {5};
    CHECK_OK(pthread_setschedparam(pthread_self(), SCHED_FIFO, &above));
    CHECK_ERR(pthread_mutex_lock(&mutex), EINVAL);
    CHECK_ERR(pthread_mutex_trylock(&mutex), EINVAL);
    const sched_param ordinary = {0};
    CHECK_OK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &ordinary));
  }
  CHECK_OK(pthread_mutex_destroy(&mutex));
}

}  // namespace

int main() {
  check_begin();
  for (const MutexKind& kind : mutex_kinds) inherit_table(kind);
  times_table();
  inherit_with_condition();
  protect_table();
  return check_end();
}
