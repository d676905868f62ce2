// rwlock_watch.h -- who watches the reader-writer locks of this library (posix/rwlock.h): the
// recorder, and the guard with its reports of misuse.
//
// Memory order (each tag stands at its site below)
//   [V]  relaxed: a count of acquisitions, which stands for itself.
#pragma once

#include "posix/rwlock.h"
#include "preload/guard/guard.h"
#include "preload/misuse/misuse.h"
#include "preload/rwlock/rwlock_lock.h"
#include "record/recorder.h"

namespace syncopate::shim {

// Counts acquisitions, and writes who waited for whom.
struct rwlock_recorder : posix::nobody_watches_rwlock {
  static void about_to_lock(lock_in_rwlock& l) { record::next_section(&l.object()); }
  static bool acquire(lock_in_rwlock& l, side which, posix::limit until) {
    record::wait w = record::wait_begin(
        which == side::write ? record::wait_kind::write : record::wait_kind::read, l.identify(),
        l.writer(), {l.caller(), until != nullptr, true});
    const bool taken = l.acquire(which, until);
    if (l.runs_ahead()) return true;  // the wait goes on
    if (l.is_run_ahead_of()) record_runs(l.identify());
    if (!taken) {
      record::wait_in_vain(w);
      return false;
    }
    record::wait_end(w, &l.object());
    return true;
  }
  static void tried(lock_in_rwlock& l, bool taken) {
    rwlock_object& o = l.object();
    if (!taken) record::tried_in_vain(l.identify(), &o, l.writer(), l.caller());
    else if (record::trying_for == &o) record::got_at_last(&o);
  }
  static void entered(lock_in_rwlock& l, side which) {
    rwlock_object& o = l.object();
    if (which == side::read) record::read_begins(&o);
    if (record::counted_by_thread(&o)) return;
    // Readers count at the same time.
    const std::uint32_t n = __atomic_add_fetch(&o.count, 1, __ATOMIC_RELAXED);  // [V]
    if (record::is_sampled(n))
      record::counted(record::object_kind::rwlock, 0, &o, &o.slot, &o.count, n);
  }
  static void release(lock_in_rwlock& l, side which) {
    rwlock_object& o = l.object();
    const bool contended = l.is_contended();
    const std::uint64_t ended = record::hold_ends(&o, contended);
    const std::uint32_t id = ended != 0 ? o.slot : 0;
    if (which == side::read) record::read_ends(&o);
    l.release(which);  // the lock may be gone now
    if (ended != 0) record::released(&o, id, contended, ended);
  }
};

// At the end of a lock, which is rare: asks who is there.
struct rwlock_end : posix::nobody_watches_rwlock {
  static void about_to_destroy(lock_in_rwlock& l) {
    if (guards.misuse) shim::about_to_destroy("reader-writer lock", &l.object(), l.is_in_use());
  }
  static void destroyed(lock_in_rwlock& l) {
    rwlock_object& o = l.object();
    if (record::enabled)
      record::object_destroyed(record::object_kind::rwlock, &o, &o.slot, o.count);
  }
};

// Calls call(watch) with who watches now. The recorded way is out of line, so that the other one
// saves no registers for it.
template <class Call>
[[gnu::noinline]] int rwlock_recorded(pthread_rwlock_t* l, const void* caller, Call call) {
  return call(lock_in_rwlock(l, caller), rwlock_recorder());
}
template <class Call>
[[gnu::always_inline]] inline int with_watch(pthread_rwlock_t* l, const void* caller, Call call) {
  if (__builtin_expect(record::enabled, 0)) return rwlock_recorded(l, caller, call);
  return call(lock_in_rwlock(l, caller), posix::nobody_watches_rwlock());
}

}  // namespace syncopate::shim
