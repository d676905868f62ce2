// rwlock.cpp -- pthread_rwlock_*: auto_rwlock.h inside glibc's 56-byte pthread_rwlock_t.
//
//   offset   0  auto_rwlock: word, guard, queue (24 bytes), and the writer's thread id at 24, where
//               glibc keeps __cur_writer
//           28  __shared     process-shared: then everything is glibc's
//           32  auto_rwlock: fork generation
//           40  record id    44  acquisitions (recording)
//           48  __flags      the kind, as glibc's init leaves it
//           52  what elision has learned of the lock    54  policy.h's choice

#include <syncopate/rwlocks/auto_rwlock.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <pthread.h>

#include "posix/times.h"
#include "preload/config.h"
#include "preload/elision.h"
#include "preload/export.h"
#include "preload/guard.h"
#include "preload/misuse.h"
#include "preload/mutex.h"
#include "preload/policy.h"
#include "preload/real.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

using record::object_kind;
using record::wait_kind;

struct rwlock_object {
  static rwlock_object& of(pthread_rwlock_t* l) noexcept {
    return *reinterpret_cast<rwlock_object*>(l);
  }
  [[nodiscard]] rw_preference preference() const noexcept {
    if (__builtin_expect((choice & (prefer_readers | prefer_writers)) != 0, 0))
      return (choice & prefer_writers) != 0 ? rw_preference::writers : rw_preference::readers;
    return kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP ? rw_preference::writers
                                                                : rw_preference::readers;
  }
  auto_rwlock& ours() noexcept { return *reinterpret_cast<auto_rwlock*>(this); }

  alignas(8) unsigned char lock[28];
  int shared;
  std::uint64_t generation;  // the lock's, with its padding
  std::uint32_t slot;
  std::uint32_t count;
  unsigned kind;
  elide::learning lesson;
  std::uint16_t choice;
};
static_assert(sizeof(rwlock_object) <= sizeof(pthread_rwlock_t));
static_assert(offsetof(rwlock_object, shared) == offsetof(pthread_rwlock_t, __data.__shared));
static_assert(offsetof(rwlock_object, kind) == offsetof(pthread_rwlock_t, __data.__flags));
static_assert(sizeof(auto_rwlock) <= offsetof(rwlock_object, slot));

bool is_real(rwlock_object& o) {
  ensure_configured();
  return current_mode() == mode::pass || o.shared != 0;
}

void count(pthread_rwlock_t* l, rwlock_object& o) {
  if (record::counted_by_thread(l)) return;
  // Readers count at the same time.
  const std::uint32_t n = __atomic_add_fetch(&o.count, 1, __ATOMIC_RELAXED);
  if (record::is_sampled(n)) record::counted(object_kind::rwlock, 0, l, &o.slot, &o.count, n);
}

enum class side { read, write };

void note_taken(pthread_rwlock_t* l, rwlock_object& o, side which) {
  if (which == side::read) record::read_begins(l);
  count(l, o);
}

bool take(rwlock_object& o, side which, const machine::deadline* until) {
  return which == side::write ? o.ours().lock_until(until)
                              : o.ours().lock_shared_until(o.preference(), until);
}
bool try_take(rwlock_object& o, side which) {
  return which == side::write ? o.ours().try_lock() : o.ours().try_lock_shared(o.preference());
}

// ---- elision ------------------------------------------------------------------------------------

// The name of a section among those that the thread has elided: each side has one.
const void* section_of(pthread_rwlock_t* l, side which) {
  return reinterpret_cast<const char*>(l) + (which == side::write ? 0 : 1);
}

// Readers run beside readers; a writer beside whoever touches other lines.
bool is_free_for(rwlock_object& o, side which) {
  if (which == side::write) return !o.ours().is_locked();
  return !o.ours().is_write_locked() &&
         (o.preference() == rw_preference::readers || !o.ours().contended());
}

void keep(rwlock_object& o, const decision& chosen) {
  o.choice = chosen.setting;
  chosen.taken();
}

// `caller`: where the program's call returns to, for locks that no init call has made.
bool elides(pthread_rwlock_t* l, rwlock_object& o, side which, patience how, const void* caller) {
  if (__builtin_expect(!config.asks_rwlocks, 1)) return false;
  if (has_policy && o.choice == 0) keep(o, choose_at_first_use(l, caller));
  if (!config.elides) return false;
  if ((o.choice & never_elide) != 0) return false;
  const side other = which == side::write ? side::read : side::write;
  // What excludes the one that this thread runs already, only the lock itself can answer.
  if (elide::section::active() && elide::section::contains(section_of(l, other))) stop_eliding();
  // It would wait for itself.
  if (o.ours().exclusive_owner() == machine::self()) return false;
  return enter_section(
             {section_of(l, which), which == side::read}, how,
             (o.choice & always_elide) != 0 ? nullptr : &o.lesson,
             [&o, which] { return is_free_for(o, which); },
             [l, &o] { return record::identify(object_kind::rwlock, 0, l, &o.slot); }) ==
         elide::entry::elided;
}

int acquire(pthread_rwlock_t* l, side which, const machine::deadline* until, const void* caller) {
  rwlock_object& o = rwlock_object::of(l);
  if (elides(l, o, which, until == nullptr ? patience::full : patience::none, caller)) return 0;
  if (record::enabled) record::next_section(l);
  if (!try_take(o, which)) {
    if (o.ours().exclusive_owner() == machine::self()) return EDEADLK;
    if (which == side::read && o.ours().reader_count() >= auto_rwlock::max_readers) return EAGAIN;
    if (!record::enabled) return take(o, which, until) ? 0 : ETIMEDOUT;
    record::wait w = record::wait_begin(which == side::write ? wait_kind::write : wait_kind::read,
                                        record::identify(object_kind::rwlock, 0, l, &o.slot),
                                        static_cast<std::uint32_t>(o.ours().exclusive_owner()),
                                        {caller, until != nullptr, true});
    if (!take(o, which, until)) {
      record::wait_end_now(w);
      return ETIMEDOUT;
    }
    record::wait_end(w, l);
  }
  if (record::enabled) note_taken(l, o, which);
  return 0;
}

int try_acquire(pthread_rwlock_t* l, side which, const void* caller) {
  rwlock_object& o = rwlock_object::of(l);
  if (config.elides && !is_free_for(o, which)) return EBUSY;
  if (elides(l, o, which, patience::none, caller)) return 0;
  if (!try_take(o, which)) {
    if (record::enabled)
      record::tried_in_vain(record::identify(object_kind::rwlock, 0, l, &o.slot), l,
                            static_cast<std::uint32_t>(o.ours().exclusive_owner()), caller);
    return EBUSY;
  }
  if (record::enabled) {
    if (record::trying_for == l) record::got_at_last(l);
    note_taken(l, o, which);
  }
  return 0;
}

int acquire_until(pthread_rwlock_t* l, side which, clockid_t clock, const timespec* at,
                  const void* caller) {
  if (!posix::is_supported(clock) || !posix::is_valid(*at))
    return EINVAL;  // at once, unlike for mutexes
  const machine::deadline until = posix::to_deadline(clock, *at);
  return acquire(l, which, &until, caller);
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* l) {
  if (is_real(rwlock_object::of(l))) return real::pthread_rwlock_rdlock(l);
  return acquire(l, side::read, nullptr, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* l) {
  if (is_real(rwlock_object::of(l))) return real::pthread_rwlock_wrlock(l);
  return acquire(l, side::write, nullptr, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* l) {
  if (is_real(rwlock_object::of(l))) return real::pthread_rwlock_tryrdlock(l);
  return try_acquire(l, side::read, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* l) {
  if (is_real(rwlock_object::of(l))) return real::pthread_rwlock_trywrlock(l);
  return try_acquire(l, side::write, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* l, const timespec* at) {
  if (is_real(rwlock_object::of(l))) return real::pthread_rwlock_timedrdlock(l, at);
  return acquire_until(l, side::read, CLOCK_REALTIME, at, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* at) {
  if (is_real(rwlock_object::of(l))) return real::pthread_rwlock_timedwrlock(l, at);
  return acquire_until(l, side::write, CLOCK_REALTIME, at, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock,
                                                const timespec* at) {
  if (is_real(rwlock_object::of(l))) return real::pthread_rwlock_clockrdlock(l, clock, at);
  return acquire_until(l, side::read, clock, at, __builtin_return_address(0));
}
SYNCOPATE_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock,
                                                const timespec* at) {
  if (is_real(rwlock_object::of(l))) return real::pthread_rwlock_clockwrlock(l, clock, at);
  return acquire_until(l, side::write, clock, at, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* l) {
  rwlock_object& o = rwlock_object::of(l);
  if (is_real(o)) return real::pthread_rwlock_unlock(l);
  if (__builtin_expect(config.elides, 0) &&
      (leave_section(section_of(l, side::read)) || leave_section(section_of(l, side::write))))
    return 0;
  const bool recording = record::enabled;
  const bool contended = recording && o.ours().contended();
  const std::uint64_t ended = recording ? record::hold_ends(l, contended) : 0;
  const std::uint32_t id = ended != 0 ? o.slot : 0;
  if (o.ours().exclusive_owner() == machine::self()) {
    o.ours().unlock();
  } else {
    if (recording) record::read_ends(l);
    o.ours().unlock_shared();
  }
  if (ended != 0) record::released(l, id, contended, ended);
  return 0;
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
  if (has_policy && o.shared == 0) keep(o, choose_at_init(l, __builtin_return_address(0)));
  if (record::enabled && o.shared == 0)
    record::object_created(object_kind::rwlock, 0, l, &o.slot, __builtin_return_address(0));
  return 0;
}

SYNCOPATE_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* l) {
  rwlock_object& o = rwlock_object::of(l);
  if (is_real(o)) return real::pthread_rwlock_destroy(l);
  if (config.elides) stop_eliding();
  if (guards.misuse) about_to_destroy("reader-writer lock", l, o.ours().is_locked());
  if (record::enabled) record::object_destroyed(object_kind::rwlock, l, &o.slot, o.count);
  return 0;
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
