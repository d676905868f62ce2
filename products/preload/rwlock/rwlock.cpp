// rwlock.cpp -- pthread_rwlock_*: what posix/rwlock.h says, by the lock of rwlock_lock.h, under the
// eyes of rwlock_watch.h.
//
// Memory order (each tag stands at its site below)
//   [V]  relaxed: only whether it has to be waited for; glibc decides who has it.

#include <cerrno>
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

// ---- the C library's ---------------------------------------------------------------------------

// Whether it must be waited for, by glibc's word of it: the phase is the writers', one of them has
// it or is about to, the rest counts readers. A trylock first would not do: who has it may ask for
// it again, which is an error, and whose time limit is none as well.
bool is_taken(const pthread_rwlock_t* l, side which) noexcept {
  constexpr unsigned write_phase = 1, has_writer = 2, one_reader = 8;
  const unsigned word = __atomic_load_n(&l->__data.__readers, __ATOMIC_RELAXED);  // [V]
  if (which == side::write) return (word & has_writer) != 0 || word >= one_reader;
  const bool lets_writers_first = l->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
  return (word & has_writer) != 0 && (lets_writers_first || (word & write_phase) != 0);
}

// A lock that stays with the C library, since processes share it; its waits are still recorded.
// There is no room in it for the recorder.
template <class Lock>
int lock_real(pthread_rwlock_t* l, side which, bool timed, const void* caller, Lock lock) {
  if (!record::enabled || !is_taken(l, which)) return lock();
  record::wait w =
      record::wait_begin(which == side::write ? record::wait_kind::write : record::wait_kind::read,
                         record::identify(record::object_kind::rwlock, 0, l, nullptr),
                         static_cast<std::uint32_t>(l->__data.__cur_writer), {caller, timed});
  const int result = lock();
  if (result == 0) record::wait_end_now(w);
  else record::wait_in_vain(w);
  return result;
}

// ---- ours ---------------------------------------------------------------------------------------

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
  const posix::early_limit until(clock, *at);
  return until ? lock(l, which, until.get(), caller) : EINVAL;
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* l) {
  const void* const caller = __builtin_return_address(0);
  if (is_real(l))
    return lock_real(l, side::read, false, caller, [=] { return real::pthread_rwlock_rdlock(l); });
  return lock(l, side::read, nullptr, caller);
}
SYNCOPATE_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* l) {
  const void* const caller = __builtin_return_address(0);
  if (is_real(l))
    return lock_real(l, side::write, false, caller, [=] { return real::pthread_rwlock_wrlock(l); });
  return lock(l, side::write, nullptr, caller);
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
  const void* const caller = __builtin_return_address(0);
  if (is_real(l))
    return lock_real(l, side::read, true, caller,
                     [=] { return real::pthread_rwlock_timedrdlock(l, at); });
  return lock_until(l, side::read, CLOCK_REALTIME, at, caller);
}
SYNCOPATE_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* at) {
  const void* const caller = __builtin_return_address(0);
  if (is_real(l))
    return lock_real(l, side::write, true, caller,
                     [=] { return real::pthread_rwlock_timedwrlock(l, at); });
  return lock_until(l, side::write, CLOCK_REALTIME, at, caller);
}
SYNCOPATE_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock,
                                                const timespec* at) {
  const void* const caller = __builtin_return_address(0);
  if (is_real(l))
    return lock_real(l, side::read, true, caller,
                     [=] { return real::pthread_rwlock_clockrdlock(l, clock, at); });
  return lock_until(l, side::read, clock, at, caller);
}
SYNCOPATE_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock,
                                                const timespec* at) {
  const void* const caller = __builtin_return_address(0);
  if (is_real(l))
    return lock_real(l, side::write, true, caller,
                     [=] { return real::pthread_rwlock_clockwrlock(l, clock, at); });
  return lock_until(l, side::write, clock, at, caller);
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
  if (has_policy && o.shared == 0)
    o.keep_choice(choose_at_init(chooser::rwlock, l, __builtin_return_address(0)));
  if (record::enabled)
    record::object_created(record::object_kind::rwlock, 0, l, o.shared == 0 ? &o.slot : nullptr,
                           __builtin_return_address(0));
  return 0;
}

SYNCOPATE_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* l) {
  if (is_real(l)) {
    if (record::enabled) record::object_destroyed(record::object_kind::rwlock, l, nullptr, 0);
    return real::pthread_rwlock_destroy(l);
  }
  return posix::destroy_rwlock(lock_in_rwlock(l, nullptr), rwlock_end());
}

SYNCOPATE_ALSO_OLDER(pthread_rwlock_clockrdlock, "GLIBC_2.30")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_clockwrlock, "GLIBC_2.30")
SYNCOPATE_ALSO_OLDER(pthread_rwlock_destroy, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_rwlock_init, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_rwlock_rdlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_rwlock_timedrdlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_rwlock_timedwrlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_rwlock_tryrdlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_rwlock_trywrlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_rwlock_unlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_rwlock_wrlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_rwlock_destroy, __pthread_rwlock_destroy, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_rwlock_init, __pthread_rwlock_init, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_rwlock_rdlock, __pthread_rwlock_rdlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_rwlock_tryrdlock, __pthread_rwlock_tryrdlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_rwlock_trywrlock, __pthread_rwlock_trywrlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_rwlock_unlock, __pthread_rwlock_unlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_rwlock_wrlock, __pthread_rwlock_wrlock, SYNCOPATE_GLIBC_2_2_5)
