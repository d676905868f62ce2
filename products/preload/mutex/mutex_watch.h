// mutex_watch.h -- who watches the mutexes of this library (posix/mutex.h): the recorder, and the
// guard with its reports of misuse and its care of holders. Each asks whether it is on.
#pragma once

#include "posix/mutex.h"
#include "preload/guard/guard.h"
#include "preload/guard/preemption.h"
#include "preload/misuse/misuse.h"
#include "preload/mutex/mutex_lock.h"
#include "record/recorder.h"

namespace syncopate::shim {

// Counts acquisitions, and writes who waited for whom. `why`: what a wait is called.
class recorder : public posix::nobody_watches {
 public:
  explicit recorder(record::wait_kind why) : why_(why) {}

  template <class Lock>
  void about_to_lock(Lock& l) const {
    record::next_section(&l.object());
  }
  template <class Lock>
  void about_to_try(Lock& l) const {
    record::next_section(&l.object());
  }
  template <class Lock>
  bool acquire(Lock& l, posix::limit until) const {
    if (!l.try_acquire()) {
      mutex_object& o = l.object();
      record::wait w = record::wait_begin(why_, identify(o), static_cast<std::uint32_t>(o.owner),
                                          {l.caller(), until != nullptr, true});
      const bool taken = l.acquire(until);
      if (l.runs_ahead()) return true;  // the wait goes on
      if (config.speculates) record_runs(identify(o));
      if (!taken) {
        record::wait_in_vain(w);
        return false;
      }
      record::wait_end(w, &o);
    }
    took_free(l);
    return true;
  }
  template <class Lock>
  void took_free(Lock& l) const {
    mutex_object& o = l.object();
    const bool glibc_word = lock_of(o).traits.glibc_word;
    std::uint32_t* const count = o.record_count(glibc_word);
    if (__builtin_expect(record::is_sampled(++*count), 0))
      record::counted(record::object_kind::mutex, o.type(), &o, o.record_slot(glibc_word), count);
  }
  template <class Lock>
  void tried(Lock& l, bool taken) const {
    mutex_object& o = l.object();
    if (!taken)
      return record::tried_in_vain(identify(o), &o, static_cast<std::uint32_t>(o.owner),
                                   l.caller());
    if (record::trying_for == &o) record::got_at_last(&o);
    took_free(l);
  }
  template <class Lock>
  void release(Lock& l) const {
    mutex_object& o = l.object();
    const bool contended = l.is_contended();
    const std::uint64_t ended = record::hold_ends(&o, contended);
    const std::uint32_t id = ended != 0 ? *o.record_slot(lock_of(o).traits.glibc_word) : 0;
    l.release();  // the mutex may be gone now
    if (ended != 0) record::released(&o, id, contended, ended);
  }
  template <class Lock>
  void destroyed(Lock& l) const {
    mutex_object& o = l.object();
    const bool glibc_word = lock_of(o).traits.glibc_word;
    record::object_destroyed(record::object_kind::mutex, &o, o.record_slot(glibc_word),
                             *o.record_count(glibc_word));
  }

 private:
  record::wait_kind why_;
};

// Under the guard, also while recording.
class guard_watch : public posix::nobody_watches {
 public:
  explicit guard_watch(record::wait_kind why) : recorder_(why) {}

  template <class Lock>
  void about_to_lock(Lock& l) const {
    if (guards.misuse) shim::about_to_lock(&l.object());
    if (record::enabled) recorder_.about_to_lock(l);
  }
  template <class Lock>
  void about_to_try(Lock& l) const {
    if (record::enabled) recorder_.about_to_try(l);
  }
  template <class Lock>
  bool acquire(Lock& l, posix::limit until) const {
    return record::enabled ? recorder_.acquire(l, until) : l.acquire(until);
  }
  template <class Lock>
  void took_free(Lock& l) const {
    if (record::enabled) recorder_.took_free(l);
  }
  template <class Lock>
  void tried(Lock& l, bool taken) const {
    if (record::enabled) recorder_.tried(l, taken);
  }
  template <class Lock>
  void entered(Lock& l) const {
    if (guards.misuse) has_locked(&l.object(), l.caller());
    if (guards.slices) section_begins();
  }
  template <class Lock>
  void about_to_unlock(Lock& l) const {
    if (guards.misuse) shim::about_to_unlock(l.object());
  }
  template <class Lock>
  void release(Lock& l) const {
    if (record::enabled) recorder_.release(l);
    else l.release();
  }
  template <class Lock>
  void left(Lock&) const {
    if (guards.slices) section_ends();
  }
  template <class Lock>
  void about_to_destroy(Lock& l) const {
    if (guards.misuse) about_to_destroy_mutex(l.object(), l.is_contended());
  }
  template <class Lock>
  void destroyed(Lock& l) const {
    if (guards.epochs) stop_guarding(l.object());
    if (record::enabled) recorder_.destroyed(l);
  }

 private:
  recorder recorder_;
};

// Out of line, so that the unwatched way saves no registers for these; the lock is made inside, to
// be no object in memory.
template <class Lock, class Watch, class Call>
[[gnu::noinline]] int watched_by(mutex_object& o, record::wait_kind why, const void* caller,
                                 Call call) {
  return call(Lock(o, caller), Watch(why));
}

// Calls call(lock, watch) with what counts now for this mutex. Requires: ensure_configured().
template <class Call>
int with_watch(mutex_object& o, record::wait_kind why, const void* caller, Call call) {
  if (__builtin_expect(guards.any(), 0))
    return watched_by<guarded_lock, guard_watch>(o, why, caller, call);
  if (__builtin_expect(record::enabled, 0))
    return watched_by<chosen_lock, recorder>(o, why, caller, call);
  return call(chosen_lock(o, caller), posix::nobody_watches());
}

}  // namespace syncopate::shim
