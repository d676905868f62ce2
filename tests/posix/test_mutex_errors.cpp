// test_mutex_errors.cpp -- the errno of every mutex call in every state, for every kind and
// initializer.
#include "mutex_kinds.h"
#include "thread.h"

namespace {

// What the owner of a mutex sees when it takes the mutex again.
void owner_again(pthread_mutex_t* mutex, int type) {
  const timespec soon = in_ms(CLOCK_REALTIME, 5);
  const timespec soon_monotonic = in_ms(CLOCK_MONOTONIC, 5);
  switch (type) {
    case PTHREAD_MUTEX_RECURSIVE:
      CHECK_OK(pthread_mutex_lock(mutex));
      CHECK_OK(pthread_mutex_trylock(mutex));
      CHECK_OK(pthread_mutex_timedlock(mutex, &soon));
      CHECK_OK(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &soon_monotonic));
      for (int depth = 0; depth < 4; ++depth) {
        CHECK_OK(pthread_mutex_unlock(mutex));
        CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(mutex); }), EBUSY);
      }
      break;
    case PTHREAD_MUTEX_ERRORCHECK:
      CHECK_ERR(pthread_mutex_lock(mutex), EDEADLK);
      CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
      CHECK_ERR(pthread_mutex_timedlock(mutex, &soon), EDEADLK);
      CHECK_ERR(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &soon_monotonic), EDEADLK);
      break;
    default:
      CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
      CHECK_ERR(pthread_mutex_timedlock(mutex, &soon), ETIMEDOUT);
      CHECK_ERR(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &soon_monotonic), ETIMEDOUT);
  }
}

// What another thread sees while the mutex is held.
void stranger(pthread_mutex_t* mutex, int type) {
  Thread([&] {
    const timespec past = in_ms(CLOCK_REALTIME, -1000);
    CHECK_ERR(pthread_mutex_trylock(mutex), EBUSY);
    CHECK_ERR(pthread_mutex_timedlock(mutex, &past), ETIMEDOUT);
    CHECK_ERR(pthread_mutex_destroy(mutex), EBUSY);
    if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
      CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
  }).join();
}

void unlock_when_free(pthread_mutex_t* mutex, int type) {
  if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
    CHECK_ERR(pthread_mutex_unlock(mutex), EPERM);
}

void table(pthread_mutex_t* mutex, int type) {
  unlock_when_free(mutex, type);
  CHECK_OK(pthread_mutex_lock(mutex));
  owner_again(mutex, type);
  stranger(mutex, type);
  CHECK_ERR(pthread_mutex_destroy(mutex), EBUSY);
  // A refused destroy must leave the mutex usable.
  CHECK_OK(pthread_mutex_unlock(mutex));
  unlock_when_free(mutex, type);

  CHECK_OK(pthread_mutex_trylock(mutex));
  stranger(mutex, type);
  CHECK_OK(pthread_mutex_unlock(mutex));

  CHECK_OK(in_other_thread([&] {
    const int error = pthread_mutex_trylock(mutex);
    return error != 0 ? error : pthread_mutex_unlock(mutex);
  }));
  CHECK_OK(pthread_mutex_destroy(mutex));
}

void deep_recursion() {
  pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  constexpr int depth = 100000;
  int errors = 0;
  for (int i = 0; i < depth; ++i) errors += pthread_mutex_lock(&mutex) != 0;
  for (int i = 0; i < depth - 1; ++i) errors += pthread_mutex_unlock(&mutex) != 0;
  CHECK_EQ(errors, 0);
  CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(&mutex); }), EBUSY);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  CHECK_ERR(pthread_mutex_unlock(&mutex), EPERM);
  CHECK_OK(in_other_thread([&] {
    const int error = pthread_mutex_trylock(&mutex);
    return error != 0 ? error : pthread_mutex_unlock(&mutex);
  }));
}

void default_and_zeroed() {
  pthread_mutex_t mutex;
  CHECK_OK(pthread_mutex_init(&mutex, nullptr));
  table(&mutex, PTHREAD_MUTEX_DEFAULT);

  auto* zeroed = static_cast<pthread_mutex_t*>(calloc(1, sizeof(pthread_mutex_t)));
  table(zeroed, PTHREAD_MUTEX_DEFAULT);
  free(zeroed);
}

// The remaining calls refuse what is not theirs.
void calls_for_other_protocols() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int ceiling = 0;
  CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
  CHECK_ERR(pthread_mutex_getprioceiling(&mutex, &ceiling), EINVAL);
  CHECK_ERR(pthread_mutex_setprioceiling(&mutex, 1, &ceiling), EINVAL);
  CHECK_OK(pthread_mutex_lock(&mutex));
  CHECK_ERR(pthread_mutex_consistent(&mutex), EINVAL);
  CHECK_OK(pthread_mutex_unlock(&mutex));
}

}  // namespace

int main() {
  check_begin();
  for (const MutexKind& kind : mutex_kinds) {
    for (const Making making : makings) {
      pthread_mutex_t mutex;
      make_mutex(&mutex, kind, making);
      table(&mutex, kind.type);
    }
  }
  default_and_zeroed();
  deep_recursion();
  calls_for_other_protocols();
  return check_end();
}
