// rwlock.cpp -- pthread_rwlock_*: what posix/rwlock.h says, by the lock of rwlock_lock.h, under the
// eyes of rwlock_watch.h.

#include <cstring>

#include <pthread.h>

#include "posix/rwlock.h"
#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/choice/policy.h"
#include "preload/config.h"
#include "preload/elision/speculation.h"
#include "preload/rwlock/rwlock_lock.h"
#include "preload/rwlock/rwlock_watch.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

bool is_real(pthread_rwlock_t* l) {
  ensure_configured();
  return current_mode() == mode::pass || rwlock_object::of(l).shared != 0;
}

// `caller`: where the program's call returns to.
int lock(pthread_rwlock_t* l, side which, posix::limit until, const void* caller) {
  if (is_ahead()) return 0;
  return with_watch(
      l, caller, [=](auto lock, auto watch) __attribute__((always_inline)) {
        return posix::lock_rwlock(lock, watch, which, until);
      });
}

int try_lock(pthread_rwlock_t* l, side which, const void* caller) {
  if (is_ahead()) return 0;
  return with_watch(
      l, caller, [=](auto lock, auto watch) __attribute__((always_inline)) {
        return posix::try_lock_rwlock(lock, watch, which);
      });
}

int lock_until(pthread_rwlock_t* l, side which, clockid_t clock, const timespec* at,
               const void* caller) {
  return posix::with_limit(clock, *at,
                           [=](posix::limit until) { return lock(l, which, until, caller); });
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* l) {
  if (is_real(l)) return real::pthread_rwlock_rdlock(l);
  return lock(l, side::read, nullptr, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* l) {
  if (is_real(l)) return real::pthread_rwlock_wrlock(l);
  return lock(l, side::write, nullptr, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* l) {
  if (is_real(l)) return real::pthread_rwlock_tryrdlock(l);
  return try_lock(l, side::read, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* l) {
  if (is_real(l)) return real::pthread_rwlock_trywrlock(l);
  return try_lock(l, side::write, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* l, const timespec* at) {
  if (is_real(l)) return real::pthread_rwlock_timedrdlock(l, at);
  return lock_until(l, side::read, CLOCK_REALTIME, at, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* at) {
  if (is_real(l)) return real::pthread_rwlock_timedwrlock(l, at);
  return lock_until(l, side::write, CLOCK_REALTIME, at, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock,
                                                const timespec* at) {
  if (is_real(l)) return real::pthread_rwlock_clockrdlock(l, clock, at);
  return lock_until(l, side::read, clock, at, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock,
                                                const timespec* at) {
  if (is_real(l)) return real::pthread_rwlock_clockwrlock(l, clock, at);
  return lock_until(l, side::write, clock, at, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* l) {
  if (is_real(l)) return real::pthread_rwlock_unlock(l);
  if (is_ahead() && speculation::end(l)) return 0;
  return with_watch(
      l, nullptr, [](auto lock, auto watch) __attribute__((always_inline)) {
        return posix::unlock_rwlock(lock, watch);
      });
}

SYNCOPATE_EXPORT int pthread_rwlock_init(pthread_rwlock_t* l,
                                         const pthread_rwlockattr_t* attributes) {
  ensure_configured();
  if (attributes == nullptr && current_mode() != mode::pass) {
    std::memset(l, 0, sizeof *l);
  } else if (const int result = real::pthread_rwlock_init(l, attributes); result != 0) {
    return result;
  }
  rwlock_object& o = rwlock_object::of(l);
  if (has_policy && o.shared == 0) o.keep_choice(choose_at_init(l, __builtin_return_address(0)));
  if (record::enabled && o.shared == 0)
    record::object_created(record::object_kind::rwlock, 0, l, &o.slot, __builtin_return_address(0));
  return 0;
}

SYNCOPATE_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* l) {
  if (is_real(l)) return real::pthread_rwlock_destroy(l);
  return posix::destroy_rwlock(lock_in_rwlock(l, nullptr), rwlock_end());
}

SYNCOPATE_ALSO_OLDER(pthread_rwlock_clockrdlock, "GLIBC_2.30", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_clockwrlock, "GLIBC_2.30", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_destroy, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_init, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_rdlock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_timedrdlock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_timedwrlock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_tryrdlock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_trywrlock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_unlock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_wrlock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_AS(pthread_rwlock_destroy, __pthread_rwlock_destroy, "GLIBC_2.2.5")
SYNCOPATE_ALSO_AS(pthread_rwlock_init, __pthread_rwlock_init, "GLIBC_2.2.5")
SYNCOPATE_ALSO_AS(pthread_rwlock_rdlock, __pthread_rwlock_rdlock, "GLIBC_2.2.5")
SYNCOPATE_ALSO_AS(pthread_rwlock_tryrdlock, __pthread_rwlock_tryrdlock, "GLIBC_2.2.5")
SYNCOPATE_ALSO_AS(pthread_rwlock_trywrlock, __pthread_rwlock_trywrlock, "GLIBC_2.2.5")
SYNCOPATE_ALSO_AS(pthread_rwlock_unlock, __pthread_rwlock_unlock, "GLIBC_2.2.5")
SYNCOPATE_ALSO_AS(pthread_rwlock_wrlock, __pthread_rwlock_wrlock, "GLIBC_2.2.5")
