// test_lookup.cpp -- every call found by dlsym and dlvsym works on the objects of the linked calls.
#include <dlfcn.h>

#include "thread.h"

namespace {

const char* const names[] = {"pthread_mutex_init",
                             "pthread_mutex_destroy",
                             "pthread_mutex_lock",
                             "pthread_mutex_trylock",
                             "pthread_mutex_timedlock",
                             "pthread_mutex_clocklock",
                             "pthread_mutex_unlock",
                             "pthread_mutex_consistent",
                             "pthread_mutex_getprioceiling",
                             "pthread_mutex_setprioceiling",
                             "pthread_cond_init",
                             "pthread_cond_destroy",
                             "pthread_cond_wait",
                             "pthread_cond_timedwait",
                             "pthread_cond_clockwait",
                             "pthread_cond_signal",
                             "pthread_cond_broadcast",
                             "pthread_rwlock_init",
                             "pthread_rwlock_destroy",
                             "pthread_rwlock_rdlock",
                             "pthread_rwlock_tryrdlock",
                             "pthread_rwlock_timedrdlock",
                             "pthread_rwlock_clockrdlock",
                             "pthread_rwlock_wrlock",
                             "pthread_rwlock_trywrlock",
                             "pthread_rwlock_timedwrlock",
                             "pthread_rwlock_clockwrlock",
                             "pthread_rwlock_unlock",
                             "pthread_spin_init",
                             "pthread_spin_destroy",
                             "pthread_spin_lock",
                             "pthread_spin_trylock",
                             "pthread_spin_unlock",
                             "pthread_barrier_init",
                             "pthread_barrier_destroy",
                             "pthread_barrier_wait",
                             "pthread_once",
                             "mtx_init",
                             "mtx_destroy",
                             "mtx_lock",
                             "mtx_trylock",
                             "mtx_timedlock",
                             "mtx_unlock",
                             "cnd_init",
                             "cnd_destroy",
                             "cnd_wait",
                             "cnd_timedwait",
                             "cnd_signal",
                             "cnd_broadcast",
                             "call_once"};

void every_name_is_found() {
  for (const char* name : names) {
    void* const by_default = dlsym(RTLD_DEFAULT, name);
    void* const next = dlsym(RTLD_NEXT, name);
    if (by_default == nullptr || next == nullptr)
      check_fail(__FILE__, __LINE__, name, "found", "nullptr");
    CHECK(by_default != nullptr);
    // The program has none of its own, so the next one after it is the first one.
    CHECK(by_default == next);
  }
}

using MutexCall = int (*)(pthread_mutex_t*);
using WaitCall = int (*)(pthread_cond_t*, pthread_mutex_t*);
using CondCall = int (*)(pthread_cond_t*);

template <typename Function>
Function found(const char* name, const char* version) {
  void* const symbol =
      version == nullptr ? dlsym(RTLD_DEFAULT, name) : dlvsym(RTLD_DEFAULT, name, version);
  MUST(symbol != nullptr);
  return reinterpret_cast<Function>(symbol);
}

void meet_on_a_mutex(const char* version) {
  const auto lock = found<MutexCall>("pthread_mutex_lock", version);
  const auto trylock = found<MutexCall>("pthread_mutex_trylock", version);
  const auto unlock = found<MutexCall>("pthread_mutex_unlock", version);
  const auto destroy = found<MutexCall>("pthread_mutex_destroy", version);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  CHECK_OK(lock(&mutex));
  CHECK_ERR(pthread_mutex_trylock(&mutex), EBUSY);
  CHECK_ERR(in_other_thread([&] { return trylock(&mutex); }), EBUSY);
  CHECK_OK(pthread_mutex_unlock(&mutex));
  CHECK_OK(pthread_mutex_lock(&mutex));
  CHECK_ERR(trylock(&mutex), EBUSY);
  CHECK_ERR(destroy(&mutex), EBUSY);
  CHECK_OK(unlock(&mutex));
  CHECK_OK(trylock(&mutex));
  CHECK_OK(unlock(&mutex));
  CHECK_OK(destroy(&mutex));
}

// dlsym without a version must find today's condition variables, not those of glibc before 2.3.2.
void meet_on_a_condition() {
  const auto wait = found<WaitCall>("pthread_cond_wait", nullptr);
  const auto broadcast = found<CondCall>("pthread_cond_broadcast", nullptr);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int turn = 0;
  run_threads(2, [&](int self) {
    int bad = pthread_mutex_lock(&mutex);
    for (int i = 0; i < 200; ++i) {
      while (turn != self)
        bad |= i % 2 == 0 ? wait(&cond, &mutex) : pthread_cond_wait(&cond, &mutex);
      turn = 1 - self;
      bad |= self == 0 ? broadcast(&cond) : pthread_cond_signal(&cond);
    }
    bad |= pthread_mutex_unlock(&mutex);
    CHECK_EQ(bad, 0);
  });
  CHECK_EQ(turn, 0);
}

}  // namespace

int main() {
  check_begin();
  every_name_is_found();
  meet_on_a_mutex(nullptr);
#if defined(__x86_64__)
  meet_on_a_mutex("GLIBC_2.2.5");
#endif
  meet_on_a_condition();
  return check_end();
}
