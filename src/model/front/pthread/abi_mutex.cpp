// abi_mutex.cpp -- the names pthread_mutex_* and pthread_cond_*.

#include <cerrno>
#include <cstring>

#include "model/front/compiler/entered.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"
#include "model/front/pthread/real.h"
#include "posix/condition.h"

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

// Versions: the C library has these names in an older version as well, for another object.
#define SYNCOPATE_CONDITION_UNLESS_PROGRAM(name, ...) \
  if (!in_program()) return SYNCOPATE_REAL_VERSION(name, "GLIBC_2.3.2")(__VA_ARGS__)

SYNCOPATE_EXPORT int pthread_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_mutex_init, m, attributes);
  int type = PTHREAD_MUTEX_NORMAL, robust = PTHREAD_MUTEX_STALLED;
  if (attributes != nullptr) {
    ::pthread_mutexattr_gettype(attributes, &type);
    ::pthread_mutexattr_getrobust(attributes, &robust);
  }
  objects::begin(m, sizeof *m, "mutex", SYNCOPATE_CALLER);
  std::memset(m, 0, sizeof *m);
  m->__data.__kind = type | (robust == PTHREAD_MUTEX_ROBUST ? objects::robust_kind : 0);
  return 0;
}

SYNCOPATE_EXPORT int pthread_mutex_destroy(pthread_mutex_t* m) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_mutex_destroy, m);
  return objects::mutex_destroy(*m, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_mutex_lock(pthread_mutex_t* m) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_mutex_lock, m);
  return objects::mutex_lock(*m, nullptr, SYNCOPATE_CALLER);
}

// (A loop of it is one that polls. Not each call is an operation, which would take the registers.)
SYNCOPATE_NOTES_REGISTERS(int, pthread_mutex_trylock)(pthread_mutex_t* m) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_mutex_trylock, m);
  const int result = objects::mutex_trylock(*m, SYNCOPATE_CALLER);
  syncopate_entered.known = false;
  return result;
}

SYNCOPATE_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_mutex_timedlock, m, when);
  const auto until = posix::to_deadline(CLOCK_REALTIME, *when);
  return objects::mutex_lock(*m, &until, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock,
                                             const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_mutex_clocklock, m, clock, when);
  if (!posix::is_supported(clock)) return EINVAL;
  const auto until = posix::to_deadline(clock, *when);
  return objects::mutex_lock(*m, &until, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_mutex_unlock(pthread_mutex_t* m) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_mutex_unlock, m);
  return objects::mutex_unlock(*m, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_mutex_consistent(pthread_mutex_t* m) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_mutex_consistent, m);
  return objects::mutex_consistent(*m, SYNCOPATE_CALLER);
}

namespace {

int wait_until(pthread_cond_t& c, pthread_mutex_t& m, clockid_t clock, const timespec& when,
               engine::place where) {
  const posix::early_limit until(clock, when);
  return until ? objects::condition_wait(c, m, until.get(), where) : EINVAL;
}

}  // namespace

SYNCOPATE_EXPORT int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t* attributes) {
  SYNCOPATE_CONDITION_UNLESS_PROGRAM(pthread_cond_init, c, attributes);
  clockid_t clock = CLOCK_REALTIME;
  if (attributes != nullptr) ::pthread_condattr_getclock(attributes, &clock);
  objects::begin(c, sizeof *c, "condition variable", SYNCOPATE_CALLER);
  std::memset(c, 0, sizeof *c);
  if (clock == CLOCK_MONOTONIC) c->__data.__wrefs = posix::monotonic_condition;
  return 0;
}

SYNCOPATE_EXPORT int pthread_cond_destroy(pthread_cond_t* c) {
  SYNCOPATE_CONDITION_UNLESS_PROGRAM(pthread_cond_destroy, c);
  objects::condition_destroy(*c, SYNCOPATE_CALLER);
  return 0;
}

SYNCOPATE_EXPORT int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  SYNCOPATE_CONDITION_UNLESS_PROGRAM(pthread_cond_wait, c, m);
  return objects::condition_wait(*c, *m, nullptr, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m,
                                            const timespec* when) {
  SYNCOPATE_CONDITION_UNLESS_PROGRAM(pthread_cond_timedwait, c, m, when);
  return wait_until(*c, *m, posix::clock_of(*c), *when, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                                            const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_cond_clockwait, c, m, clock, when);
  return wait_until(*c, *m, clock, *when, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_cond_signal(pthread_cond_t* c) {
  SYNCOPATE_CONDITION_UNLESS_PROGRAM(pthread_cond_signal, c);
  objects::condition_signal(*c, SYNCOPATE_CALLER);
  return 0;
}

SYNCOPATE_EXPORT int pthread_cond_broadcast(pthread_cond_t* c) {
  SYNCOPATE_CONDITION_UNLESS_PROGRAM(pthread_cond_broadcast, c);
  objects::condition_broadcast(*c, SYNCOPATE_CALLER);
  return 0;
}
