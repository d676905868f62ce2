// c11.cpp -- mtx_* and cnd_*: glibc implements them on its own pthread functions by internal
// calls that nobody can interpose, so they are given to ours here. call_once stays untouched.

#include <cerrno>

#include <pthread.h>
#include <threads.h>

#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/condition/condition.h"
#include "preload/config.h"
#include "preload/mutex/mutex.h"

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

bool passes() {
  syncopate::shim::ensure_configured();
  return syncopate::shim::current_mode() == syncopate::shim::mode::pass;
}

pthread_mutex_t* as_pthread(mtx_t* m) { return reinterpret_cast<pthread_mutex_t*>(m); }
pthread_cond_t* as_pthread(cnd_t* c) { return reinterpret_cast<pthread_cond_t*>(c); }
static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));

}  // namespace

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

// glibc's init decides the kind; what it leaves is a pthread mutex.
SYNCOPATE_EXPORT int mtx_init(mtx_t* m, int type) { return real::mtx_init(m, type); }
SYNCOPATE_EXPORT int mtx_lock(mtx_t* m) {
  if (passes()) return real::mtx_lock(m);
  return to_thrd(lock_mutex(as_pthread(m), __builtin_return_address(0)));
}
SYNCOPATE_EXPORT int mtx_trylock(mtx_t* m) {
  if (passes()) return real::mtx_trylock(m);
  return to_thrd(try_lock_mutex(as_pthread(m), __builtin_return_address(0)));
}
SYNCOPATE_EXPORT int mtx_timedlock(mtx_t* m, const timespec* at) {
  if (passes()) return real::mtx_timedlock(m, at);
  return to_thrd(lock_mutex(as_pthread(m), {at, nullptr}, record::wait_kind::mutex,
                            __builtin_return_address(0)));
}
SYNCOPATE_EXPORT int mtx_unlock(mtx_t* m) {
  if (passes()) return real::mtx_unlock(m);
  return to_thrd(pthread_mutex_unlock(as_pthread(m)));
}
SYNCOPATE_EXPORT void mtx_destroy(mtx_t* m) {
  if (passes()) return real::mtx_destroy(m);
  pthread_mutex_destroy(as_pthread(m));
}

SYNCOPATE_EXPORT int cnd_init(cnd_t* c) {
  if (passes()) return real::cnd_init(c);
  return to_thrd(pthread_cond_init(as_pthread(c), nullptr));
}
SYNCOPATE_EXPORT int cnd_wait(cnd_t* c, mtx_t* m) {
  if (passes()) return real::cnd_wait(c, m);
  return to_thrd(
      wait_for_condition(as_pthread(c), as_pthread(m), nullptr, __builtin_return_address(0)));
}
SYNCOPATE_EXPORT int cnd_timedwait(cnd_t* c, mtx_t* m, const timespec* at) {
  if (passes()) return real::cnd_timedwait(c, m, at);
  return to_thrd(wait_for_condition(as_pthread(c), as_pthread(m), at, __builtin_return_address(0)));
}
SYNCOPATE_EXPORT int cnd_signal(cnd_t* c) {
  if (passes()) return real::cnd_signal(c);
  return to_thrd(pthread_cond_signal(as_pthread(c)));
}
SYNCOPATE_EXPORT int cnd_broadcast(cnd_t* c) {
  if (passes()) return real::cnd_broadcast(c);
  return to_thrd(pthread_cond_broadcast(as_pthread(c)));
}
SYNCOPATE_EXPORT void cnd_destroy(cnd_t* c) {
  if (passes()) return real::cnd_destroy(c);
  pthread_cond_destroy(as_pthread(c));
}

SYNCOPATE_ALSO_OLDER(cnd_broadcast, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(cnd_destroy, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(cnd_init, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(cnd_signal, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(cnd_timedwait, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(cnd_wait, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(mtx_destroy, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(mtx_init, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(mtx_lock, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(mtx_timedlock, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(mtx_trylock, "GLIBC_2.28")
SYNCOPATE_ALSO_OLDER(mtx_unlock, "GLIBC_2.28")
