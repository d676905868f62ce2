// abi_rwlock.cpp -- the names pthread_rwlock_*, pthread_barrier_* and pthread_spin_*.

#include <cerrno>
#include <cstring>

#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"
#include "model/front/pthread/real.h"
#include "posix/barrier.h"

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

using objects::side;

SYNCOPATE_EXPORT int pthread_rwlock_init(pthread_rwlock_t* l,
                                         const pthread_rwlockattr_t* attributes) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_init, l, attributes);
  int kind = PTHREAD_RWLOCK_DEFAULT_NP;
  if (attributes != nullptr) ::pthread_rwlockattr_getkind_np(attributes, &kind);
  objects::begin(l, sizeof *l, "reader-writer lock", SYNCOPATE_CALLER);
  std::memset(l, 0, sizeof *l);
  l->__data.__flags = static_cast<unsigned>(kind);
  return 0;
}

SYNCOPATE_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* l) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_destroy, l);
  return objects::rwlock_destroy(*l, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* l) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_rdlock, l);
  return objects::rwlock_lock(*l, side::read, nullptr, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* l) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_wrlock, l);
  return objects::rwlock_lock(*l, side::write, nullptr, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* l) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_tryrdlock, l);
  return objects::rwlock_trylock(*l, side::read, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* l) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_trywrlock, l);
  return objects::rwlock_trylock(*l, side::write, SYNCOPATE_CALLER);
}

namespace {

int lock_until(pthread_rwlock_t& l, side which, clockid_t clock, const timespec& when,
               engine::place where) {
  const posix::early_limit until(clock, when);
  return until ? objects::rwlock_lock(l, which, until.get(), where) : EINVAL;
}

}  // namespace

SYNCOPATE_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* l, const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_timedrdlock, l, when);
  return lock_until(*l, side::read, CLOCK_REALTIME, *when, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_timedwrlock, l, when);
  return lock_until(*l, side::write, CLOCK_REALTIME, *when, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock,
                                                const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_clockrdlock, l, clock, when);
  return lock_until(*l, side::read, clock, *when, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock,
                                                const timespec* when) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_clockwrlock, l, clock, when);
  return lock_until(*l, side::write, clock, *when, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* l) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_rwlock_unlock, l);
  return objects::rwlock_unlock(*l, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_barrier_init(pthread_barrier_t* b,
                                          const pthread_barrierattr_t* attributes, unsigned count) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_barrier_init, b, attributes, count);
  if (!posix::is_valid_barrier_count(count)) return EINVAL;
  objects::begin(b, sizeof *b, "barrier", SYNCOPATE_CALLER);
  objects::barrier_init(*b, count, SYNCOPATE_CALLER);
  return 0;
}
SYNCOPATE_EXPORT int pthread_barrier_wait(pthread_barrier_t* b) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_barrier_wait, b);
  return objects::barrier_wait(*b, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int pthread_barrier_destroy(pthread_barrier_t* b) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_barrier_destroy, b);
  return objects::barrier_destroy(*b, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int pthread_spin_init(pthread_spinlock_t* l, int shared) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_spin_init, l, shared);
  objects::begin(const_cast<int*>(l), sizeof *l, "spin lock", SYNCOPATE_CALLER);
  objects::spin_init(*l, SYNCOPATE_CALLER);
  return 0;
}
SYNCOPATE_EXPORT int pthread_spin_destroy(pthread_spinlock_t* l) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_spin_destroy, l);
  return objects::spin_destroy(*l, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int pthread_spin_lock(pthread_spinlock_t* l) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_spin_lock, l);
  return objects::spin_lock(*l, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int pthread_spin_trylock(pthread_spinlock_t* l) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_spin_trylock, l);
  return objects::spin_trylock(*l, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int pthread_spin_unlock(pthread_spinlock_t* l) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_spin_unlock, l);
  return objects::spin_unlock(*l, SYNCOPATE_CALLER);
}
