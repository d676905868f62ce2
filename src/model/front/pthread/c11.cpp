// c11.cpp -- C11's threads, mutexes and condition variables, keys: pthread's, with other results.

#include <threads.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "model/front/compiler/critical_sections.h"
#include "model/front/program/identity.h"
#include "model/front/pthread/cancel.h"
#include "model/front/pthread/early_threads.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"
#include "model/front/pthread/real.h"
#include "model/front/pthread/threads.h"

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

namespace {

int to_thrd(int error) {
  switch (error) {
    case 0: return thrd_success;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    case EBUSY: return thrd_busy;
    default: return thrd_error;
  }
}

pthread_mutex_t& of(mtx_t* m) { return *reinterpret_cast<pthread_mutex_t*>(m); }
pthread_cond_t& of(cnd_t* c) { return *reinterpret_cast<pthread_cond_t*>(c); }
static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));

}  // namespace

SYNCOPATE_EXPORT int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  if (constructing && asks_machine()) {
    const int result = SYNCOPATE_REAL(thrd_create)(thread, routine, argument);
    if (result == thrd_success) note_early();
    return result;
  }
  SYNCOPATE_UNLESS_PROGRAM(thrd_create, thread, routine, argument);
  return to_thrd(start_thread(thread, nullptr, nullptr, routine, argument, SYNCOPATE_CALLER));
}

SYNCOPATE_EXPORT thrd_t thrd_current() {
  SYNCOPATE_UNLESS_PROGRAM(thrd_current);
  return handle_of(self_record());
}

SYNCOPATE_EXPORT int thrd_join(thrd_t thread, int* result) {
  if (constructing && asks_machine()) {
    const int joined = SYNCOPATE_REAL(thrd_join)(thread, result);
    if (joined == thrd_success) forget_early();
    return joined;
  }
  SYNCOPATE_UNLESS_PROGRAM(thrd_join, thread, result);
  test_cancel();
  void* value = nullptr;
  const int error = join_thread(thread, &value, nullptr, SYNCOPATE_CALLER);
  if (error == 0 && result != nullptr) {
    touch(result, sizeof *result, engine::kind::write, SYNCOPATE_CALLER);
    *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  }
  return to_thrd(error);
}

SYNCOPATE_EXPORT int thrd_detach(thrd_t thread) {
  if (constructing && asks_machine()) {
    const int detached = SYNCOPATE_REAL(thrd_detach)(thread);
    if (detached == thrd_success) forget_early();
    return detached;
  }
  SYNCOPATE_UNLESS_PROGRAM(thrd_detach, thread);
  return to_thrd(::pthread_detach(thread));
}

SYNCOPATE_EXPORT void thrd_exit(int result) {
  if (!in_program()) SYNCOPATE_REAL(thrd_exit)(result);
  leave(self_record(), reinterpret_cast<void*>(static_cast<std::intptr_t>(result)));
}

SYNCOPATE_EXPORT int thrd_sleep(const timespec* time, timespec* remaining) {
  SYNCOPATE_UNLESS_PROGRAM(thrd_sleep, time, remaining);
  // The front end's: a sleep of the machine.
  switch (::clock_nanosleep(CLOCK_REALTIME, 0, time, remaining)) {
    case 0: return 0;
    case EINTR: return -1;
    default: return -2;
  }
}

SYNCOPATE_EXPORT void thrd_yield() {
  if (!in_program()) return SYNCOPATE_REAL(thrd_yield)();
  const engine::place where = SYNCOPATE_CALLER;
  end_transaction("thrd_yield", where);
  on_engine([&] { engine::yield(where); });
}

SYNCOPATE_EXPORT int mtx_init(mtx_t* m, int type) {
  SYNCOPATE_UNLESS_PROGRAM(mtx_init, m, type);
  objects::begin(m, sizeof *m, "mutex", SYNCOPATE_CALLER);
  std::memset(m, 0, sizeof *m);
  if ((type & mtx_recursive) != 0) of(m).__data.__kind = PTHREAD_MUTEX_RECURSIVE_NP;
  return thrd_success;
}
SYNCOPATE_EXPORT int mtx_lock(mtx_t* m) {
  SYNCOPATE_UNLESS_PROGRAM(mtx_lock, m);
  return to_thrd(objects::mutex_lock(of(m), nullptr, SYNCOPATE_CALLER));
}
SYNCOPATE_EXPORT int mtx_trylock(mtx_t* m) {
  SYNCOPATE_UNLESS_PROGRAM(mtx_trylock, m);
  return to_thrd(objects::mutex_trylock(of(m), SYNCOPATE_CALLER));
}
SYNCOPATE_EXPORT int mtx_timedlock(mtx_t* m, const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(mtx_timedlock, m, when);
  const auto until = posix::to_deadline(CLOCK_REALTIME, *when);
  return to_thrd(objects::mutex_lock(of(m), &until, SYNCOPATE_CALLER));
}
SYNCOPATE_EXPORT int mtx_unlock(mtx_t* m) {
  SYNCOPATE_UNLESS_PROGRAM(mtx_unlock, m);
  return to_thrd(objects::mutex_unlock(of(m), SYNCOPATE_CALLER));
}
SYNCOPATE_EXPORT void mtx_destroy(mtx_t* m) {
  if (!in_program()) return SYNCOPATE_REAL(mtx_destroy)(m);
  objects::mutex_destroy(of(m), SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int cnd_init(cnd_t* c) {
  SYNCOPATE_UNLESS_PROGRAM(cnd_init, c);
  objects::begin(c, sizeof *c, "condition variable", SYNCOPATE_CALLER);
  std::memset(c, 0, sizeof *c);
  return thrd_success;
}
SYNCOPATE_EXPORT int cnd_wait(cnd_t* c, mtx_t* m) {
  SYNCOPATE_UNLESS_PROGRAM(cnd_wait, c, m);
  test_cancel();
  return to_thrd(objects::condition_wait(of(c), of(m), nullptr, SYNCOPATE_CALLER));
}
SYNCOPATE_EXPORT int cnd_timedwait(cnd_t* c, mtx_t* m, const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(cnd_timedwait, c, m, when);
  if (!posix::is_valid(*when)) return thrd_error;
  const auto until = posix::to_deadline(CLOCK_REALTIME, *when);
  test_cancel();
  return to_thrd(objects::condition_wait(of(c), of(m), &until, SYNCOPATE_CALLER));
}
SYNCOPATE_EXPORT int cnd_signal(cnd_t* c) {
  SYNCOPATE_UNLESS_PROGRAM(cnd_signal, c);
  objects::condition_signal(of(c), SYNCOPATE_CALLER);
  return thrd_success;
}
SYNCOPATE_EXPORT int cnd_broadcast(cnd_t* c) {
  SYNCOPATE_UNLESS_PROGRAM(cnd_broadcast, c);
  objects::condition_broadcast(of(c), SYNCOPATE_CALLER);
  return thrd_success;
}
SYNCOPATE_EXPORT void cnd_destroy(cnd_t* c) {
  if (!in_program()) return SYNCOPATE_REAL(cnd_destroy)(c);
  objects::condition_destroy(of(c), SYNCOPATE_CALLER);
}

// The C library's own would not tell the front end of their destructors.
SYNCOPATE_EXPORT int tss_create(tss_t* key, tss_dtor_t destructor) {
  return to_thrd(::pthread_key_create(key, destructor));
}
SYNCOPATE_EXPORT void tss_delete(tss_t key) { ::pthread_key_delete(key); }
