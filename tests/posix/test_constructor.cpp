// test_constructor.cpp -- locks taken before main: in .preinit_array, a library's constructor, a
// static object.
//
// Links: lib_constructor.
#include "thread.h"

extern "C" {
extern pthread_mutex_t constructor_mutex;
extern pthread_mutex_t constructor_recursive;
extern pthread_cond_t constructor_cond;
extern pthread_rwlock_t constructor_rwlock;
extern pthread_spinlock_t constructor_spin;
extern int constructor_errors;
}

namespace {

pthread_mutex_t preinit_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t preinit_rwlock = PTHREAD_RWLOCK_INITIALIZER;
int preinit_errors = -1;

// Runs before every constructor of every library, a preloaded one's included.
void lock_before_everything() {
  preinit_errors = pthread_mutex_lock(&preinit_mutex) | pthread_rwlock_wrlock(&preinit_rwlock);
}

__attribute__((section(".preinit_array"), used)) void (*const preinit)() = lock_before_everything;

struct StaticObject {
  StaticObject() : errors(pthread_mutex_init(&mutex, nullptr) | pthread_mutex_lock(&mutex)) {}
  // Runs after main, perhaps after a preloaded library's destructors.
  ~StaticObject() {
    if (pthread_mutex_lock(&mutex) != 0 || pthread_mutex_unlock(&mutex) != 0 ||
        pthread_mutex_destroy(&mutex) != 0)
      _exit(9);
  }
  pthread_mutex_t mutex;
  int errors;
};
StaticObject static_object;

// Held in the main thread since before main: another thread sees it so, and can wait for it.
void held_then_released(pthread_mutex_t* mutex) {
  CHECK_ERR(in_other_thread([&] { return pthread_mutex_trylock(mutex); }), EBUSY);
  int taken = 0;
  Thread waiter([&] {
    CHECK_OK(pthread_mutex_lock(mutex));
    set_int(&taken, 1);
    CHECK_OK(pthread_mutex_unlock(mutex));
  });
  sleep_ms(1);
  CHECK_EQ(get_int(&taken), 0);
  CHECK_OK(pthread_mutex_unlock(mutex));
  waiter.join();
  CHECK_EQ(taken, 1);
  CHECK_OK(pthread_mutex_trylock(mutex));
  CHECK_OK(pthread_mutex_unlock(mutex));
}

}  // namespace

int main() {
  check_begin();
  CHECK_EQ(preinit_errors, 0);
  CHECK_EQ(constructor_errors, 0);
  CHECK_EQ(static_object.errors, 0);
  held_then_released(&preinit_mutex);
  held_then_released(&constructor_mutex);
  held_then_released(&static_object.mutex);

  CHECK_OK(pthread_mutex_unlock(&constructor_recursive));
  held_then_released(&constructor_recursive);
  CHECK_ERR(pthread_mutex_unlock(&constructor_recursive), EPERM);

  CHECK_ERR(pthread_rwlock_rdlock(&preinit_rwlock), EDEADLK);
  CHECK_OK(pthread_rwlock_unlock(&preinit_rwlock));
  CHECK_ERR(pthread_rwlock_trywrlock(&constructor_rwlock), EBUSY);
  CHECK_OK(pthread_rwlock_unlock(&constructor_rwlock));
  CHECK_OK(pthread_rwlock_trywrlock(&constructor_rwlock));
  CHECK_OK(pthread_rwlock_unlock(&constructor_rwlock));

  CHECK_ERR(pthread_spin_trylock(&constructor_spin), EBUSY);
  CHECK_OK(pthread_spin_unlock(&constructor_spin));

  const timespec past = {1, 0};
  CHECK_OK(pthread_mutex_lock(&constructor_mutex));
  CHECK_ERR(pthread_cond_timedwait(&constructor_cond, &constructor_mutex, &past), ETIMEDOUT);
  CHECK_OK(pthread_mutex_unlock(&constructor_mutex));
  return check_end();
}
