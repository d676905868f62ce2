// mutex.cpp -- pthread_mutex_*: inline fast paths, then whose mutex it is; what the calls mean is
// in posix/mutex.h, the lock in mutex_lock.h, who watches in mutex_watch.h.

#include "preload/mutex/mutex.h"

#include <cerrno>
#include <cstring>

#include <linux/futex.h>

#include "posix/mutex.h"
#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/choice/mutex_object.h"
#include "preload/config.h"
#include "preload/elision/elision.h"
#include "preload/elision/speculation.h"
#include "preload/guard/guard.h"
#include "preload/misuse/misuse.h"
#include "preload/mutex/mutex_watch.h"

namespace syncopate::shim {
namespace {

using record::object_kind;
using record::wait_kind;

// A mutex that no init call has asked for: at its first use. `caller`: where the call returns to.
void choose_once(pthread_mutex_t* m, mutex_object& o, const void* caller) {
  if (__builtin_expect(has_policy, 0) && o.choice() == 0)
    o.keep_choice(choose_at_first_use(chooser::mutex, m, caller));
}

// ---- the C library's ---------------------------------------------------------------------------

// A mutex that stays with the C library; its waits are still recorded. The time is looked at by
// nobody else: what an invalid one means differs from kind to kind.
int lock_real(pthread_mutex_t* m, const given_limit& given, wait_kind why, const void* caller) {
  const auto lock = [&] {
    if (given.at == nullptr) return real::pthread_mutex_lock(m);
    return given.clock == nullptr ? real::pthread_mutex_timedlock(m, given.at)
                                  : real::pthread_mutex_clocklock(m, *given.clock, given.at);
  };
  // The lock word tells whether there is anything to wait for. A trylock first would not do: on a
  // robust mutex that is not recoverable glibc's changes the mutex.
  // Of a robust one that a thread has left behind, it has the mark of that, and no thread's id.
  mutex_object& o = mutex_object::of(m);
  if (!record::enabled || (o.word & FUTEX_TID_MASK) == 0) return lock();
  record::wait w =
      record::wait_begin(why, record::identify(object_kind::mutex, o.type(), m, nullptr),
                         static_cast<std::uint32_t>(o.owner), {caller, given.at != nullptr, true});
  // Who has a recursive one takes it at once; who has an error-checking one is told so.
  const int type = o.type();
  const bool has_it = o.owner == machine::self() &&
                      (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK);
  const int result = lock();
  if (has_it || result == EINVAL) record::wait_refused(w);
  else if (result == 0 || result == EOWNERDEAD) record::wait_end_now(w);
  else record::wait_in_vain(w);
  return result;
}

// ---- every kind ---------------------------------------------------------------------------------

bool is_real(const mutex_object& o) {
  ensure_configured();
  return current_mode() == mode::pass || o.belongs_to_glibc();
}

int lock_general(pthread_mutex_t* m, const given_limit& given, wait_kind why, const void* caller) {
  mutex_object& o = mutex_object::of(m);
  if (is_real(o)) return lock_real(m, given, why, caller);
  const clockid_t clock = given.clock == nullptr ? CLOCK_REALTIME : *given.clock;
  if (!posix::is_supported(clock)) return EINVAL;
  if (is_ahead()) return 0;
  machine::deadline deadline{};
  if (given.at != nullptr) deadline = posix::to_deadline(clock, *given.at);
  const posix::limit until = given.at == nullptr ? nullptr : &deadline;
  choose_once(m, o, caller);
  return with_watch(
      o, why, caller, [until](auto lock, auto watch) __attribute__((always_inline)) {
        return posix::lock_mutex(lock, watch, until);
      });
}

int trylock_general(pthread_mutex_t* m, const void* caller) {
  mutex_object& o = mutex_object::of(m);
  if (is_real(o)) return real::pthread_mutex_trylock(m);
  if (is_ahead()) return 0;
  choose_once(m, o, caller);
  return with_watch(
      o, wait_kind::mutex, caller, [](auto lock, auto watch) __attribute__((always_inline)) {
        return posix::try_lock_mutex(lock, watch);
      });
}

[[gnu::noinline]] int unlock_general(pthread_mutex_t* m) {
  mutex_object& o = mutex_object::of(m);
  if (is_real(o)) return real::pthread_mutex_unlock(m);
  if (is_ahead() && speculation::end(o.own)) return 0;
  return with_watch(
      o, wait_kind::mutex, nullptr, [](auto lock, auto watch) __attribute__((always_inline)) {
        return posix::unlock_mutex(lock, watch);
      });
}

bool is_automatic(const mutex_object& o) {
  return o.kind_flags() == 0 && current_mode() == mode::automatic;
}

inlined_lock& as_tatas(mutex_object& o) { return *reinterpret_cast<inlined_lock*>(o.own); }

[[gnu::noinline, gnu::cold]] int counted(pthread_mutex_t* m) {
  mutex_object& o = mutex_object::of(m);
  record::counted(object_kind::mutex, o.type(), m, o.record_slot(true), o.record_count(true));
  return 0;
}

[[gnu::noinline]] int lock_otherwise(pthread_mutex_t* m, const void* caller) {
  return lock_general(m, {}, record::wait_kind::mutex, caller);
}

// Where sections may be elided: a mutex for which that is not worth while is taken as any other.
[[gnu::noinline]] int lock_or_elide(pthread_mutex_t* m, const void* caller) {
  mutex_object& o = mutex_object::of(m);
  const int me = machine::known_self();
  if (me != 0 && !worth_eliding(o) && o.as_auto().try_lock_as(me)) return 0;
  return lock_otherwise(m, caller);
}

[[gnu::noinline]] int unlock_contended(pthread_mutex_t* m) {
  mutex_object::of(m).as_auto().unlock();
  return 0;
}

[[gnu::always_inline]] inline int try_lock_fast(pthread_mutex_t* m, const void* caller) {
  mutex_object& o = mutex_object::of(m);
  if (is_automatic(o)) return o.as_auto().try_lock() ? 0 : EBUSY;
  return trylock_general(m, caller);
}

}  // namespace

int lock_mutex(pthread_mutex_t* m, const void* caller) noexcept {
  mutex_object& o = mutex_object::of(m);
  const int me = machine::known_self();
  if (is_automatic(o) && me != 0 && o.as_auto().try_lock_as(me)) return 0;
  return lock_otherwise(m, caller);
}
int lock_mutex(pthread_mutex_t* m, const given_limit& given, record::wait_kind why,
               const void* caller) noexcept {
  return lock_general(m, given, why, caller);
}
int try_lock_mutex(pthread_mutex_t* m, const void* caller) noexcept {
  return try_lock_fast(m, caller);
}
int unlock_mutex(pthread_mutex_t* m) noexcept { return unlock_general(m); }

}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

// Without a stack frame, as pthread_mutex_unlock: every way that is not one of the fast ones is a
// tail call (scripts/check_fast_paths.sh).
SYNCOPATE_EXPORT int pthread_mutex_lock(pthread_mutex_t* m) {
  mutex_object& o = mutex_object::of(m);
  if (o.kind_flags() == 0) [[likely]] {
    const mode how = current_mode();
    const int me = machine::known_self();
    if (how == mode::automatic) [[likely]] {
      if (me != 0 && o.as_auto().try_lock_as(me)) [[likely]]
        return 0;
    } else if (how == mode::recorded) {
      // Counted here; contention is recorded on the long way.
      if (me == 0 || record::current_gap.object == m || !o.as_auto().try_lock_as(me))
        return lock_otherwise(m, __builtin_return_address(0));
      if (!record::is_sampled(++*o.record_count(true))) [[likely]]
        return 0;
      return counted(m);
    } else if (how == mode::elided) {
      return lock_or_elide(m, __builtin_return_address(0));
    } else if ((how == mode::tatas && as_tatas(o).try_lock()) ||
               (how == mode::chosen && me != 0 && o.has_default_lock() &&
                o.as_auto().try_lock_as(me))) {
      // tatas: no owner, no user, since each store before the next exchange would delay that.
      return 0;
    }
  }
  return lock_otherwise(m, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_mutex_unlock(pthread_mutex_t* m) {
  mutex_object& o = mutex_object::of(m);
  if (o.kind_flags() == 0) [[likely]] {
    const mode how = current_mode();
    if (how == mode::automatic) [[likely]]
      return o.as_auto().unlock_uncontended() ? 0 : unlock_contended(m);
    if (how == mode::tatas) {
      if (o.users != 0) [[unlikely]] {  // taken on the long way
        o.owner = 0;
        o.users = 0;
      }
      as_tatas(o).unlock();
      return 0;
    }
    if ((how == mode::elided && !elide::section::active()) ||
        (how == mode::chosen && o.has_default_lock()))
      return o.as_auto().unlock_uncontended() ? 0 : unlock_contended(m);
    if (how == mode::recorded && !record::may_be_measured(m) && o.as_auto().unlock_uncontended())
        [[likely]]
      return 0;
  }
  return unlock_general(m);
}

SYNCOPATE_EXPORT int pthread_mutex_trylock(pthread_mutex_t* m) {
  return try_lock_fast(m, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* at) {
  return lock_general(m, {at, nullptr}, record::wait_kind::mutex, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock,
                                             const timespec* at) {
  return lock_general(m, {at, &clock}, record::wait_kind::mutex, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes) {
  ensure_configured();
  // Without attributes the object is all zero; no call to the C library, which may not be found yet
  // when the first allocator initializes its locks.
  if (attributes == nullptr && current_mode() != mode::pass) {
    std::memset(m, 0, sizeof *m);
  } else if (const int result = real::pthread_mutex_init(m, attributes); result != 0) {
    return result;
  }
  if (has_policy && !mutex_object::of(m).belongs_to_glibc())
    mutex_object::of(m).keep_choice(choose_at_init(chooser::mutex, m, __builtin_return_address(0)));
  if (guards.misuse) has_made(m);
  if (record::enabled) {
    mutex_object& o = mutex_object::of(m);
    if (!o.belongs_to_glibc())
      record::object_created(object_kind::mutex, o.type(), m,
                             o.record_slot(lock_of(o).traits.glibc_word),
                             __builtin_return_address(0));
  }
  return 0;
}

SYNCOPATE_EXPORT int pthread_mutex_destroy(pthread_mutex_t* m) {
  mutex_object& o = mutex_object::of(m);
  if (is_real(o)) return real::pthread_mutex_destroy(m);
  return with_watch(
      o, wait_kind::mutex, nullptr, [](auto lock, auto watch) __attribute__((always_inline)) {
        return posix::destroy_mutex(lock, watch);
      });
}

SYNCOPATE_ALSO_OLDER(pthread_mutex_clocklock, "GLIBC_2.30")
SYNCOPATE_ALSO_OLDER(pthread_mutex_timedlock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_OLDER(pthread_mutex_trylock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_mutex_destroy, __pthread_mutex_destroy, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_mutex_init, __pthread_mutex_init, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_mutex_lock, __pthread_mutex_lock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_mutex_trylock, __pthread_mutex_trylock, SYNCOPATE_GLIBC_2_2_5)
SYNCOPATE_ALSO_AS(pthread_mutex_unlock, __pthread_mutex_unlock, SYNCOPATE_GLIBC_2_2_5)
