// test_mutex_copied.cpp -- free mutexes that are moved by copying their bytes, as a container does
// that knows nothing of them, and are used from then on where they lie.
//
// POSIX leaves that undefined; the C library has nothing that would mind. Two copies are two
// mutexes.
#include "mutex_kinds.h"
#include "thread.h"

namespace {

// So that whatever watches or learns has seen it.
void use(pthread_mutex_t* mutex) {
  int errors = 0;
  run_threads(2, [&](int) {
    for (int i = 0; i < 40; ++i) {
      if (pthread_mutex_lock(mutex) != 0) add_int(&errors, 1);
      if (pthread_mutex_unlock(mutex) != 0) add_int(&errors, 1);
    }
  });
  CHECK_EQ(errors, 0);
}

void expect_two(pthread_mutex_t* one, pthread_mutex_t* other) {
  CHECK_OK(pthread_mutex_lock(one));
  CHECK_OK(in_other_thread([&] {
    return pthread_mutex_trylock(other) | pthread_mutex_unlock(other) | pthread_mutex_lock(other) |
           pthread_mutex_unlock(other);
  }));
  CHECK_OK(pthread_mutex_lock(other));
  CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(one); }), EBUSY);
  CHECK_OK(pthread_mutex_unlock(one));
  CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(other); }), EBUSY);
  CHECK_OK(pthread_mutex_unlock(other));
}

}  // namespace

int main() {
  check_begin();
  for (const MutexKind& kind : mutex_kinds) {
    pthread_mutex_t mutexes[3];
    make_mutex(&mutexes[0], kind, Making::static_initializer);
    use(&mutexes[0]);
    for (int i = 1; i < 3; ++i)
      memcpy(static_cast<void*>(&mutexes[i]), &mutexes[i - 1], sizeof *mutexes);
    expect_two(&mutexes[0], &mutexes[1]);
    expect_two(&mutexes[2], &mutexes[1]);
    use(&mutexes[2]);
    expect_two(&mutexes[0], &mutexes[2]);
    for (pthread_mutex_t& mutex : mutexes) CHECK_OK(pthread_mutex_destroy(&mutex));
  }
  return check_end();
}
