// mutex.cpp -- pthread_mutex_*: inline fast paths, then everything else.

#include "pthread/mutex.h"

#include <syncopate/locks/tatas_lock.h>

#include <cerrno>
#include <cstring>

#include "posix/times.h"
#include "pthread/config.h"
#include "pthread/elision.h"
#include "pthread/export.h"
#include "pthread/guard.h"
#include "pthread/misuse.h"
#include "pthread/mutex_object.h"
#include "pthread/preemption.h"
#include "pthread/real.h"

namespace syncopate::shim {
namespace {

using record::object_kind;
using record::wait_kind;

bool is_recursive(const mutex_object& o) { return o.type() == PTHREAD_MUTEX_RECURSIVE_NP; }
bool is_errorcheck(const mutex_object& o) { return o.type() == PTHREAD_MUTEX_ERRORCHECK_NP; }

const algorithm& lock_of(const mutex_object& o) { return *chosen_locks[o.chosen_lock()]; }
std::uint32_t* slot_of(mutex_object& o) { return o.record_slot(lock_of(o).glibc_word); }
std::uint32_t* count_of(mutex_object& o) { return o.record_count(lock_of(o).glibc_word); }

// A mutex that no init call has asked for: at its first use. `caller`: where the call returns to.
void choose_once(pthread_mutex_t* m, mutex_object& o, const void* caller) {
  if (__builtin_expect(has_policy, 0) && o.choice() == 0)
    o.keep_choice(choose_at_first_use(m, caller));
}

// What counts now: the chosen lock, unless its choice is guarded (guard.h).
lock_in_use use_of(mutex_object& o) {
  if (__builtin_expect(guards.epochs, 0)) return lock_in_use_of(o);
  const algorithm& lock = lock_of(o);
  return {&lock, o.state(lock.glibc_word), lock.keeps_owner};
}

// auto_lock keeps owner and user count itself; for the others they are kept here.
void note_holder(mutex_object& o) {
  if (!use_of(o).keeps_owner) {
    o.owner = machine::self();
    o.users = 1;
  }
  if (is_recursive(o)) o.depth = 1;
}

// ---- timed waiting for algorithms that cannot leave their queue ---------------------------------

bool poll_until(const algorithm& lock, void* state, const machine::deadline& until) {
  constexpr std::int64_t first_nap = 20'000, longest_nap = 1'000'000;  // ns
  static const std::uint32_t nobody_wakes = 0;
  for (std::int64_t nap = first_nap;; nap = nap < longest_nap ? 2 * nap : longest_nap) {
    if (lock.try_lock(state)) return true;
    const std::int64_t left = machine::remaining(until);
    if (left <= 0) return false;
    const machine::deadline next = machine::after(nap < left ? nap : left);
    machine::park(&nobody_wakes, 0, &next);
  }
}

bool acquire_this(mutex_object& o, const lock_in_use& use, const machine::deadline* until) {
  const algorithm& lock = *use.lock;
  if (__builtin_expect(guards.slices, 0) && minds_holder(use))
    return acquire_minding_holder(o, use, until);
  if (until == nullptr) return lock.lock(use.state), true;
  if (lock.lock_until != nullptr) return lock.lock_until(use.state, *until);
  return poll_until(lock, use.state, *until);
}

// What a thread has taken may count no more, or not yet: then it is given back (guard.h, I1).
bool acquire_guarded(mutex_object& o, const machine::deadline* until, const void* caller) {
  std::uint64_t began = 0;
  for (;;) {
    const lock_in_use use = use_of(o);
    if (!use.lock->try_lock(use.state)) {
      if (began == 0) began = machine::ticks();
      if (!acquire_this(o, use, until)) return false;
    }
    if (is_in_use(o, use)) {
      note_acquisition(o, use, began != 0 ? (machine::ticks() - began) | 1 : 0, caller);
      return true;
    }
    use.lock->unlock(use.state);
  }
}

bool acquire(mutex_object& o, const machine::deadline* until, const void* caller) {
  if (__builtin_expect(guards.epochs, 0)) return acquire_guarded(o, until, caller);
  return acquire_this(o, use_of(o), until);
}

bool try_acquire(mutex_object& o, const void* caller) {
  for (;;) {
    const lock_in_use use = use_of(o);
    if (!use.lock->try_lock(use.state)) return false;
    if (__builtin_expect(!guards.epochs, 1)) return true;
    if (is_in_use(o, use)) return note_acquisition(o, use, 0, caller), true;
    use.lock->unlock(use.state);
  }
}
bool is_contended(mutex_object& o) {
  const lock_in_use use = use_of(o);
  return use.lock->contended(use.state);
}
bool is_held(mutex_object& o) {
  const lock_in_use use = use_of(o);
  return use.lock->is_locked(use.state);
}

// ---- recording ----------------------------------------------------------------------------------

std::uint32_t identify(pthread_mutex_t* m, mutex_object& o) {
  return record::identify(object_kind::mutex, o.type(), m, slot_of(o));
}

void count_acquisition(pthread_mutex_t* m, mutex_object& o) {
  std::uint32_t* const count = count_of(o);
  if (__builtin_expect(record::is_sampled(++*count), 0))
    record::counted(object_kind::mutex, o.type(), m, slot_of(o), count);
}

bool acquire_recorded(pthread_mutex_t* m, mutex_object& o, const machine::deadline* until,
                      wait_kind why, const void* caller) {
  record::next_section(m);
  if (!try_acquire(o, caller)) {
    record::wait w = record::wait_begin(why, identify(m, o), static_cast<std::uint32_t>(o.owner),
                                        {caller, until != nullptr, true});
    if (!acquire(o, until, caller)) {
      record::wait_end_now(w);
      return false;
    }
    record::wait_end(w, m);
  }
  count_acquisition(m, o);
  return true;
}

void release(pthread_mutex_t* m, mutex_object& o) {
  const lock_in_use use = use_of(o);
  const algorithm& lock = *use.lock;
  void* const state = use.state;
  if (!use.keeps_owner) {
    // Unlocking a free normal mutex is undefined, but glibc tolerates it and programs do it; a
    // queue lock would wait for a successor that does not exist. (Who took a tatas on the fast way
    // is not in `users`.)
    if (state != &o && o.users == 0 && !lock.is_locked(state)) return;
    o.owner = 0;
    o.users = 0;
  }
  if (__builtin_expect(!record::enabled, 1)) return lock.unlock(state);
  const bool contended = lock.contended(state);
  const std::uint64_t ended = record::hold_ends(m, contended);
  const std::uint32_t id = ended != 0 ? *o.record_slot(lock.glibc_word) : 0;
  lock.unlock(state);
  if (ended != 0) record::released(m, id, contended, ended);
}

// A mutex that stays with the C library; its waits are still recorded.
int lock_real(pthread_mutex_t* m, const machine::deadline* until, wait_kind why,
              const void* caller) {
  const auto lock = [&] {
    if (until == nullptr) return real::pthread_mutex_lock(m);
    return until->clock == CLOCK_REALTIME
               ? real::pthread_mutex_timedlock(m, &until->at)
               : real::pthread_mutex_clocklock(m, until->clock, &until->at);
  };
  // The lock word tells whether there is anything to wait for. A trylock first would not do: on a
  // robust mutex that is not recoverable glibc's changes the mutex.
  mutex_object& o = mutex_object::of(m);
  if (!record::enabled || o.word == 0) return lock();
  record::wait w =
      record::wait_begin(why, record::identify(object_kind::mutex, o.type(), m, nullptr),
                         static_cast<std::uint32_t>(o.owner), {caller, until != nullptr, true});
  const int result = lock();
  record::wait_end_now(w);
  return result;
}

// ---- elision ------------------------------------------------------------------------------------

// Requires: the calling thread does not hold the mutex.
elide::entry elide_section(pthread_mutex_t* m, mutex_object& o, patience how) {
  return enter_section(
      {m, is_recursive(o)}, how, (o.choice() & always_elide) != 0 ? nullptr : &o.lesson(),
      [&o] { return !is_held(o); }, [m, &o] { return identify(m, o); });
}

// In a section that is elided already, a lock that is taken would be one more line to conflict at.
// Requires: config.elides_contended, and the mutex has the default lock.
bool worth_eliding(mutex_object& o) {
  return o.as_auto().has_been_contended() || elide::section::active();
}

bool elides(pthread_mutex_t* m, mutex_object& o, patience how) {
  if (__builtin_expect(!config.elides, 1)) return false;
  const unsigned choice = o.choice();
  if ((choice & never_elide) != 0) return false;
  if (config.elides_contended && (choice & always_elide) == 0 && o.chosen_lock() == 0 &&
      !worth_eliding(o))
    return false;
  return elide_section(m, o, how) == elide::entry::elided;
}

// ---- the guard ----------------------------------------------------------------------------------

void has_entered(mutex_object& o, const void* caller) {
  if (guards.misuse) has_locked(&o, caller);
  if (guards.slices) section_begins();
}

// ---- every kind ---------------------------------------------------------------------------------

int lock_general(pthread_mutex_t* m, const machine::deadline* until, wait_kind why,
                 const void* caller) {
  ensure_configured();
  mutex_object& o = mutex_object::of(m);
  if (current_mode() == mode::pass || o.belongs_to_glibc()) return lock_real(m, until, why, caller);
  choose_once(m, o, caller);
  if (is_recursive(o) && o.owner == machine::self()) {
    if (o.depth + 1 == 0) return EAGAIN;
    ++o.depth;
    return 0;
  }
  if (is_errorcheck(o) && o.owner == machine::self()) return EDEADLK;
  if (elides(m, o, until == nullptr ? patience::full : patience::none)) return 0;
  if (__builtin_expect(guards.misuse, 0)) about_to_lock(&o);
  if (until != nullptr && !posix::is_valid(until->at)) {
    // POSIX: invalid only matters when the call would block.
    if (!try_acquire(o, caller)) return EINVAL;
    if (record::enabled) count_acquisition(m, o);
  } else if (__builtin_expect(record::enabled, 0)) {
    if (!acquire_recorded(m, o, until, why, caller)) return ETIMEDOUT;
  } else if (!acquire(o, until, caller)) {
    return ETIMEDOUT;
  }
  note_holder(o);
  if (__builtin_expect(guards.any(), 0)) has_entered(o, caller);
  return 0;
}

int trylock_general(pthread_mutex_t* m, const void* caller) {
  ensure_configured();
  mutex_object& o = mutex_object::of(m);
  if (current_mode() == mode::pass || o.belongs_to_glibc()) return real::pthread_mutex_trylock(m);
  choose_once(m, o, caller);
  if (is_recursive(o) && o.owner == machine::self()) {
    if (o.depth + 1 == 0) return EAGAIN;
    ++o.depth;
    return 0;
  }
  // Not by a transaction that would then wait for the mutex, or abort.
  if (config.elides && is_held(o)) return EBUSY;
  if (elides(m, o, patience::none)) return 0;
  if (record::enabled) record::next_section(m);
  if (!try_acquire(o, caller)) {
    if (record::enabled)
      record::tried_in_vain(identify(m, o), m, static_cast<std::uint32_t>(o.owner), caller);
    return EBUSY;
  }
  if (record::enabled) {
    if (record::trying_for == m) record::got_at_last(m);
    count_acquisition(m, o);
  }
  note_holder(o);
  if (__builtin_expect(guards.any(), 0)) has_entered(o, caller);
  return 0;
}

[[gnu::noinline]] int unlock_general(pthread_mutex_t* m) {
  ensure_configured();
  mutex_object& o = mutex_object::of(m);
  if (current_mode() == mode::pass || o.belongs_to_glibc()) return real::pthread_mutex_unlock(m);
  if (__builtin_expect(config.elides, 0) && leave_section(m)) return 0;
  if (is_recursive(o) || is_errorcheck(o)) {
    if (o.owner != machine::self()) return EPERM;
    if (is_recursive(o) && --o.depth != 0) return 0;
  }
  if (__builtin_expect(guards.misuse, 0)) about_to_unlock(o);
  // Held across a fork: the waiters of a queue lock stayed behind in the parent.
  if (const lock_in_use use = use_of(o);
      !use.lock->glibc_word && machine::forked_from() != 0 && o.owner == machine::forked_from())
    std::memset(use.state, 0, mutex_object::room);
  else release(m, o);
  if (__builtin_expect(guards.slices, 0)) section_ends();
  return 0;
}

bool is_automatic(const mutex_object& o) {
  return o.kind_flags() == 0 && current_mode() == mode::automatic;
}

using tatas = tatas_lock<waits::spin>;
tatas& as_tatas(mutex_object& o) { return *reinterpret_cast<tatas*>(o.own); }

}  // namespace

int lock_mutex(pthread_mutex_t* m, const machine::deadline* until, record::wait_kind why) noexcept {
  return lock_general(m, until, why, __builtin_return_address(0));
}
int try_lock_mutex(pthread_mutex_t* m) noexcept {
  return trylock_general(m, __builtin_return_address(0));
}
int unlock_mutex(pthread_mutex_t* m) noexcept { return unlock_general(m); }

}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

namespace {

[[gnu::noinline, gnu::cold]] int counted(pthread_mutex_t* m) {
  mutex_object& o = mutex_object::of(m);
  record::counted(object_kind::mutex, o.type(), m, o.record_slot(true), o.record_count(true));
  return 0;
}

[[gnu::noinline]] int lock_otherwise(pthread_mutex_t* m, const void* caller) {
  return lock_general(m, nullptr, record::wait_kind::mutex, caller);
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

}  // namespace

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
    if (how == mode::recorded && record::current_hold.object != m &&
        o.as_auto().unlock_uncontended()) [[likely]]
      return 0;
  }
  return unlock_general(m);
}

SYNCOPATE_EXPORT int pthread_mutex_trylock(pthread_mutex_t* m) {
  mutex_object& o = mutex_object::of(m);
  if (is_automatic(o)) return o.as_auto().try_lock() ? 0 : EBUSY;
  return trylock_general(m, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* at) {
  const machine::deadline until = posix::to_deadline(CLOCK_REALTIME, *at);
  return lock_general(m, &until, record::wait_kind::mutex, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock,
                                             const timespec* at) {
  if (!posix::is_supported(clock)) return EINVAL;
  const machine::deadline until = posix::to_deadline(clock, *at);
  return lock_general(m, &until, record::wait_kind::mutex, __builtin_return_address(0));
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
    mutex_object::of(m).keep_choice(choose_at_init(m, __builtin_return_address(0)));
  if (guards.misuse) has_made(m);
  if (record::enabled) {
    mutex_object& o = mutex_object::of(m);
    if (!o.belongs_to_glibc())
      record::object_created(object_kind::mutex, o.type(), m, slot_of(o),
                             __builtin_return_address(0));
  }
  return 0;
}

SYNCOPATE_EXPORT int pthread_mutex_destroy(pthread_mutex_t* m) {
  ensure_configured();
  mutex_object& o = mutex_object::of(m);
  if (current_mode() == mode::pass || o.belongs_to_glibc()) return real::pthread_mutex_destroy(m);
  if (config.elides) stop_eliding();
  if (guards.misuse) about_to_destroy_mutex(o, is_contended(o));
  if (o.users != 0 || (current_mode() == mode::tatas && is_held(o))) return EBUSY;
  if (guards.epochs) stop_guarding(o);
  if (record::enabled) record::object_destroyed(object_kind::mutex, m, slot_of(o), *count_of(o));
  o.kind = -1;  // as glibc does: a use after this is EINVAL, not a hang
  return 0;
}

SYNCOPATE_ALSO_OLDER(pthread_mutex_clocklock, "GLIBC_2.30", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_mutex_timedlock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(pthread_mutex_trylock, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_AS(pthread_mutex_destroy, __pthread_mutex_destroy, "GLIBC_2.2.5")
SYNCOPATE_ALSO_AS(pthread_mutex_init, __pthread_mutex_init, "GLIBC_2.2.5")
SYNCOPATE_ALSO_AS(pthread_mutex_lock, __pthread_mutex_lock, "GLIBC_2.2.5")
SYNCOPATE_ALSO_AS(pthread_mutex_trylock, __pthread_mutex_trylock, "GLIBC_2.2.5")
SYNCOPATE_ALSO_AS(pthread_mutex_unlock, __pthread_mutex_unlock, "GLIBC_2.2.5")
