// test_mutex_reinit.cpp -- destroy and init again: no state of the earlier mutex may survive.
#include "mutex_kinds.h"
#include "thread.h"

namespace {

void expect_kind(pthread_mutex_t* mutex, int type) {
  CHECK_OK(pthread_mutex_lock(mutex));
  const int again = pthread_mutex_trylock(mutex);
  if (type == PTHREAD_MUTEX_RECURSIVE) {
    CHECK_ERR(again, 0);
    CHECK_OK(pthread_mutex_unlock(mutex));
  } else {
    CHECK_ERR(again, EBUSY);
  }
  CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(mutex); }), EBUSY);
  CHECK_OK(pthread_mutex_unlock(mutex));
  if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
    CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
}

// Leaves traces in the object: waiters that came and went, timeouts, recursion, contention.
void use(pthread_mutex_t* mutex, int type) {
  CHECK_OK(pthread_mutex_lock(mutex));
  {
    Thread waiter([&] {
      CHECK_OK(pthread_mutex_lock(mutex));
      CHECK_OK(pthread_mutex_unlock(mutex));
    });
    Thread gives_up([&] {
      const timespec soon = in_ms(CLOCK_MONOTONIC, 1);
      CHECK_ERR(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
    });
    gives_up.join();
    CHECK_OK(pthread_mutex_unlock(mutex));
  }
  expect_kind(mutex, type);
}

// Every kind after every kind on the same memory.
void kind_after_kind() {
  pthread_mutex_t mutex;
  for (const MutexKind& first : mutex_kinds) {
    for (const MutexKind& second : mutex_kinds) {
      make_mutex(&mutex, first, Making::attributes);
      use(&mutex, first.type);
      CHECK_OK(pthread_mutex_destroy(&mutex));
      make_mutex(&mutex, second, Making::attributes);
      use(&mutex, second.type);
      CHECK_OK(pthread_mutex_destroy(&mutex));
    }
  }
}

// Memory of a held, abandoned mutex is used again: init and the static initializer both start
// afresh.
void memory_of_a_held_mutex() {
  for (const MutexKind& kind : mutex_kinds) {
    for (const Making making : makings) {
      pthread_mutex_t mutex;
      make_mutex(&mutex, kind, making);
      CHECK_OK(pthread_mutex_lock(&mutex));
      make_mutex(&mutex, kind, making);
      use(&mutex, kind.type);
      memset(static_cast<void*>(&mutex), 0, sizeof mutex);
      use(&mutex, PTHREAD_MUTEX_NORMAL);
    }
  }
}

// init overwrites whatever bytes the memory had.
void memory_of_garbage() {
  for (const MutexKind& kind : mutex_kinds) {
    for (const int byte : {0xff, 0xa5, 0x01}) {
      pthread_mutex_t mutex;
      memset(static_cast<void*>(&mutex), byte, sizeof mutex);
      make_mutex(&mutex, kind, Making::attributes);
      use(&mutex, kind.type);
      CHECK_OK(pthread_mutex_destroy(&mutex));
    }
  }
}

}  // namespace

int main() {
  check_begin();
  kind_after_kind();
  memory_of_a_held_mutex();
  memory_of_garbage();
  return check_end();
}
