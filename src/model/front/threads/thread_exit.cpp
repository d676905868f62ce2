#include "model/front/threads/thread_exit.h"
#include "model/front/libc/call_memory.h"

#include <climits>

#include <pthread.h>

#include "model/front/pthread/real.h"
#include "model/front/scope.h"
#include "model/front/threads/fiber_state.h"

namespace syncopate::instrument {

namespace {

// The C library has the keys and their values; it has no function that tells the destructors.
struct key_record {
  bool exists;
  void (*destructor)(void*);
};
constinit key_record keys[PTHREAD_KEYS_MAX] = {};
// Keys from here on were never made. The C library hands out the lowest free one, so that most
// programs have a handful, and every thread's end looks at those only.
constinit unsigned keys_end = 0;
constinit unsigned kept_keys_end = 0;

bool run_key_destructors_once() {
  bool any = false;
  for (unsigned i = 0; i < keys_end; ++i) {
    const pthread_key_t key = i;
    if (!keys[i].exists || keys[i].destructor == nullptr) continue;
    void* value = pthread_getspecific(key);
    if (value == nullptr) continue;
    pthread_setspecific(key, nullptr);
    keys[i].destructor(value);
    any = true;
  }
  return any;
}

}  // namespace

void run_local_destructors() {
  // A destructor may register further ones.
  for (;;) {
    exit_duty next;
    {
      const engine_scope inside;
      fiber& me = *running;
      auto& duties = !me.duties.empty() ? me.duties : me.last_duties;
      if (duties.empty()) return;
      next = duties.back();
      duties.pop_back();
    }
    next.function(next.object);
  }
}

void at_thread_exit(void (*function)(void*), void* object) {
  const engine_scope inside;
  running->last_duties.push_back({function, object});
}

void run_thread_exit_duties() {
  run_local_destructors();
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
    if (!run_key_destructors_once()) return;
  }
}

void forget_thread_keys() {
  for (unsigned i = 0; i < keys_end; ++i) {
    if (!keys[i].exists) continue;
    if (pthread_getspecific(i) != nullptr) pthread_setspecific(i, nullptr);
  }
}

void keep_thread_keys() { kept_keys_end = keys_end; }

void restore_thread_keys() {
  for (; keys_end > kept_keys_end; --keys_end)
    if (keys[keys_end - 1].exists) pthread_key_delete(keys_end - 1);
}

}  // namespace syncopate::instrument

using namespace syncopate::instrument;

// libstdc++'s __cxa_thread_atexit calls this. The library that a destructor lies in is not held
// loaded by it: a modeled program does not unload libraries that its threads still use.
SYNCOPATE_EXPORT int __cxa_thread_atexit_impl(void (*function)(void*), void* object,
                                              void* /*dso*/) noexcept {
  const engine_scope inside;
  running_fiber()->duties.push_back({function, object});
  return 0;
}

SYNCOPATE_EXPORT int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, key);
  const int error = SYNCOPATE_REAL_VERSION(pthread_key_create, "GLIBC_2.34")(key, destructor);
  if (error == 0 && *key < PTHREAD_KEYS_MAX) {
    keys[*key] = {true, destructor};
    if (*key >= keys_end) keys_end = *key + 1;
  }
  return error;
}

SYNCOPATE_EXPORT int pthread_key_delete(pthread_key_t key) noexcept {
  if (key < PTHREAD_KEYS_MAX) keys[key] = {};
  return SYNCOPATE_REAL_VERSION(pthread_key_delete, "GLIBC_2.34")(key);
}
