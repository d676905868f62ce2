// semaphore.cpp -- sem_*: the C library's semaphores, seen by the recorder only.
//
// A semaphore has no holder. One that is used as a lock has: who took it last, and posts. So each
// wait is classified by the post that ended it: of who had taken the semaphore (it was a lock, and
// the wait is lost to it), or of anybody else (it was a signal).
//
// glibc's sem_t has 32 bytes and uses 16 of them. Where processes share a semaphore, its other ones
// are left alone: then it is known by its address, and every post is a signal.
//
//   offset   0  value    4  waiting threads    8  shared between processes
//           16  record id    20  acquisitions    24  who took it last    28  what its last post was
#include <syncopate/machine.h>

#include <cerrno>
#include <cstdint>

#include <pthread.h>
#include <semaphore.h>

#include "posix/times.h"
#include "preload/config.h"
#include "preload/export.h"
#include "preload/real.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

using record::object_kind;
using record::wait_kind;

enum class last_post : std::uint32_t { none, release, signal };

struct semaphore_object {
  static semaphore_object& of(sem_t* s) noexcept { return *reinterpret_cast<semaphore_object*>(s); }
  [[nodiscard]] bool has_room() const noexcept { return shared == 0; }
  [[nodiscard]] bool is_lock() const noexcept {
    return has_room() && load(owner) != 0 && load(posted) != last_post::signal;
  }
  std::uint32_t* slot() noexcept { return has_room() ? &slot_ : nullptr; }

  template <class T>
  static T load(const T& word) noexcept {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);
  }
  template <class T>
  static void store(T& word, T value) noexcept {
    __atomic_store_n(&word, value, __ATOMIC_RELAXED);
  }

  std::uint32_t value, waiters;
  int shared;
  int padding;
  std::uint32_t slot_, count;
  int owner;
  last_post posted;
};
static_assert(sizeof(semaphore_object) == sizeof(sem_t) && sizeof(long) == 8);

std::uint32_t identify(sem_t* s) noexcept {
  return record::identify(object_kind::semaphore, 0, s, semaphore_object::of(s).slot());
}

void note_taken(sem_t* s) noexcept {
  semaphore_object& o = semaphore_object::of(s);
  if (!o.has_room()) return record::taken(object_kind::semaphore, 0, s);
  semaphore_object::store(o.owner, machine::self());
  const std::uint32_t n = __atomic_add_fetch(&o.count, 1, __ATOMIC_RELAXED);
  if (record::is_sampled(n)) record::counted(object_kind::semaphore, 0, s, o.slot(), &o.count, n);
}

wait_kind kind_of(const semaphore_object& o) noexcept {
  return o.is_lock() ? wait_kind::semaphore_lock : wait_kind::semaphore;
}

void canceled(void* recorded) { record::wait_end_now(*static_cast<record::wait*>(recorded)); }

template <class Wait>
void wait_cancelable(record::wait& recorded, const Wait& real_wait, int* result) {
  pthread_cleanup_push(canceled, &recorded);
  *result = real_wait();
  pthread_cleanup_pop(0);
}

// `real_wait` is the C library's function, called where a trywait finds nothing.
template <class Wait>
int wait_recorded(sem_t* s, bool timed, const void* caller, const Wait& real_wait) {
  semaphore_object& o = semaphore_object::of(s);
  const int saved = errno;
  if (real::sem_trywait(s) != 0) {
    errno = saved;
    const wait_kind kind = kind_of(o);
    const int holder = kind == wait_kind::semaphore_lock ? semaphore_object::load(o.owner) : 0;
    record::wait w = record::wait_begin(kind, identify(s), static_cast<std::uint32_t>(holder),
                                        {caller, timed, o.has_room()});
    int result;
    wait_cancelable(w, real_wait, &result);
    w.kind = o.has_room() && semaphore_object::load(o.posted) == last_post::release
                 ? wait_kind::semaphore_lock
                 : wait_kind::semaphore;
    if (result != 0 || w.kind == wait_kind::semaphore) record::wait_end_now(w);
    else record::wait_end(w, s);
    if (result != 0) return result;
  }
  note_taken(s);
  return 0;
}

int post_recorded(sem_t* s) {
  semaphore_object& o = semaphore_object::of(s);
  if (!o.has_room()) return real::sem_post(s);
  const bool is_release = semaphore_object::load(o.owner) == machine::self();
  semaphore_object::store(o.posted, is_release ? last_post::release : last_post::signal);
  if (is_release) semaphore_object::store(o.owner, 0);
  const bool contended = is_release && semaphore_object::load(o.waiters) != 0;
  const std::uint64_t ended = record::hold_ends(s, contended);
  const std::uint32_t id = ended != 0 ? o.slot_ : 0;
  const int result = real::sem_post(s);
  if (ended != 0) record::released(s, id, contended, ended);
  return result;
}

int try_recorded(sem_t* s, const void* caller) {
  if (const int result = real::sem_trywait(s); result != 0) {
    const semaphore_object& o = semaphore_object::of(s);
    const int error = errno;
    if (o.is_lock())
      record::tried_in_vain(identify(s), s,
                            static_cast<std::uint32_t>(semaphore_object::load(o.owner)), caller);
    errno = error;
    return result;
  }
  if (record::trying_for == s) record::got_at_last(s);
  note_taken(s);
  return 0;
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int sem_init(sem_t* s, int shared, unsigned value) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_init(s, shared, value);
  const int result = real::sem_init(s, shared, value);
  semaphore_object& o = semaphore_object::of(s);
  if (result != 0 || !o.has_room()) return result;
  o.count = 0;
  o.owner = 0;
  o.posted = last_post::none;
  record::object_created(object_kind::semaphore, 0, s, o.slot(), __builtin_return_address(0));
  return 0;
}

SYNCOPATE_EXPORT int sem_destroy(sem_t* s) {
  if (record::enabled) {
    semaphore_object& o = semaphore_object::of(s);
    const std::uint32_t taken = o.has_room() ? o.count : 0;
    record::object_destroyed(object_kind::semaphore, s, o.slot(), taken);
  }
  return real::sem_destroy(s);
}

SYNCOPATE_EXPORT int sem_wait(sem_t* s) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_wait(s);
  return wait_recorded(s, false, __builtin_return_address(0), [s] { return real::sem_wait(s); });
}

SYNCOPATE_EXPORT int sem_timedwait(sem_t* s, const timespec* at) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_timedwait(s, at);
  if (!posix::is_valid(*at)) return real::sem_timedwait(s, at);  // EINVAL, also if there is a token
  return wait_recorded(s, true, __builtin_return_address(0),
                       [s, at] { return real::sem_timedwait(s, at); });
}

SYNCOPATE_EXPORT int sem_clockwait(sem_t* s, clockid_t clock, const timespec* at) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_clockwait(s, clock, at);
  if (!posix::is_valid(*at) || !posix::is_supported(clock))
    return real::sem_clockwait(s, clock, at);
  return wait_recorded(s, true, __builtin_return_address(0),
                       [s, clock, at] { return real::sem_clockwait(s, clock, at); });
}

SYNCOPATE_EXPORT int sem_trywait(sem_t* s) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_trywait(s);
  return try_recorded(s, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int sem_post(sem_t* s) {
  if (__builtin_expect(!record::enabled, 1)) return real::sem_post(s);
  return post_recorded(s);
}

SYNCOPATE_ALSO_OLDER(sem_clockwait, "GLIBC_2.30", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(sem_destroy, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(sem_init, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(sem_post, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(sem_timedwait, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(sem_trywait, "GLIBC_2.2.5", "GLIBC_2.34")
SYNCOPATE_ALSO_OLDER(sem_wait, "GLIBC_2.2.5", "GLIBC_2.34")
