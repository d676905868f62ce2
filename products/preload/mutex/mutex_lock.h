// mutex_lock.h -- the lock behind a mutex of this library, as posix/mutex.h wants it: the chosen
// algorithm (policy.h), sections that are elided, holders that a fork left behind.
#pragma once

#include <cstring>

#include <pthread.h>

#include "posix/mutex.h"
#include "posix/poll_until.h"
#include "preload/choice/mutex_object.h"
#include "preload/config.h"
#include "preload/elision/elision.h"
#include "preload/elision/speculation.h"
#include "preload/guard/guard.h"
#include "preload/guard/preemption.h"
#include "record/recorder.h"

namespace syncopate::shim {

inline const algorithm& lock_of(const mutex_object& o) { return *chosen_locks[o.chosen_lock()]; }

// The recorder's name of a mutex.
inline std::uint32_t identify(mutex_object& o) {
  return record::identify(record::object_kind::mutex, o.type(), &o,
                          o.record_slot(lock_of(o).traits.glibc_word));
}

// In a section that is elided already, a lock that is taken would be one more line to conflict at.
// Requires: config.elides_contended, and the mutex has the default lock.
inline bool worth_eliding(mutex_object& o) {
  return o.as_auto().has_been_contended() || elide::section::active();
}

// Self has in_use(): the lock that counts now, a hint unless it is held.
template <class Self>
class lock_in_mutex {
 public:
  lock_in_mutex(mutex_object& o, const void* caller) : object_(o), caller_(caller) {}

  mutex_object& object() { return object_; }
  [[nodiscard]] const void* caller() const { return caller_; }

  [[nodiscard]] int kind() const { return object_.kind; }
  [[nodiscard]] int holder() const { return object_.owner; }
  static int self() { return machine::self(); }
  std::uint32_t& depth() { return object_.depth; }

  // auto_lock keeps owner and user count itself; for the others they are kept here.
  void note_holder(int kind) {
    if (!in_use().keeps_owner) {
      object_.owner = machine::self();
      object_.users = 1;
    }
    if (posix::is_recursive(kind)) object_.depth = 1;
  }

  bool forget_holder(int /*kind*/) {
    const lock_in_use use = in_use();
    // Held across a fork: the waiters of a queue lock stayed behind in the parent.
    if (!use.lock->traits.glibc_word && machine::forked_from() != 0 &&
        object_.owner == machine::forked_from()) {
      std::memset(use.state, 0, mutex_object::room);
      object_.owner = 0;
      object_.users = 0;
      return false;
    }
    if (use.keeps_owner) return true;
    // A queue lock that is free would wait for a successor that does not exist. (Who took a tatas
    // on the fast way is not in `users`.)
    if (use.state != &object_ && object_.users == 0 && !use.lock->is_locked(use.state))
      return false;
    object_.owner = 0;
    object_.users = 0;
    return true;
  }
  void release() {
    const lock_in_use use = in_use();
    if (__builtin_expect(config.speculates, 0) && use.lock->traits.runs_ahead)
      note_section(use.state, [this] { return identify(object_); });
    use.lock->unlock(use.state);
  }
  // Whether acquire() has returned to run ahead, with nothing held.
  static bool runs_ahead() { return is_ahead(); }

  bool is_contended() {
    const lock_in_use use = in_use();
    return use.lock->contended(use.state);
  }
  bool is_held() {
    const lock_in_use use = in_use();
    return use.lock->is_locked(use.state);
  }
  bool is_in_use() { return object_.users != 0 || (current_mode() == mode::tatas && is_held()); }
  void mark_destroyed() { object_.kind = posix::destroyed_mutex; }

  bool enters_elided(posix::limit until) {
    return elides(until == nullptr ? retries::all : retries::none);
  }
  // Not by a transaction that would then wait for the mutex, or abort.
  bool refuses_elided_try() { return config.elides && is_held(); }
  bool enters_elided_try() { return elides(retries::none); }
  bool leaves_elided() { return __builtin_expect(config.elides, 0) && leave_section(&object_); }
  static void stop_eliding() {
    if (config.elides) shim::stop_eliding();
  }

 protected:
  static bool acquire_with(const lock_in_use& use, posix::limit until) {
    if (until == nullptr) return use.lock->lock(use.state), true;
    if (use.lock->lock_until != nullptr) return use.lock->lock_until(use.state, *until);
    return posix::poll_until(*until, [&use] { return use.lock->try_lock(use.state); });
  }
  // The mutex's own.
  [[nodiscard]] lock_in_use choice() const {
    const algorithm& lock = lock_of(object_);
    return {&lock, object_.state(lock.traits.glibc_word), lock.traits.keeps_owner};
  }

  mutex_object& object_;
  const void* caller_;  // where the program's call returns to

 private:
  lock_in_use in_use() { return static_cast<Self*>(this)->in_use(); }

  // Requires: the calling thread does not hold the mutex.
  bool elides(retries how) {
    if (__builtin_expect(!config.elides, 1)) return false;
    const unsigned choice = object_.choice();
    if ((choice & never_elide) != 0) return false;
    const elide::retry_policy* const own = lock_of(object_).elision;
    const bool always = (choice & always_elide) != 0 || own != nullptr;
    if (config.elides_contended && !always && object_.chosen_lock() == 0 && !worth_eliding(object_))
      return false;
    return enter_section(
               {&object_, posix::is_recursive(object_.kind)}, how,
               own != nullptr ? *own : elision_policy, always ? nullptr : &object_.learned(),
               [this] { return !is_held(); },
               [this] { return identify(object_); }) == elide::entry::elided;
  }
};

class chosen_lock : public lock_in_mutex<chosen_lock> {
 public:
  chosen_lock(mutex_object& o, const void* caller) : lock_in_mutex(o, caller), in_use_(choice()) {}

  [[nodiscard]] const lock_in_use& in_use() const { return in_use_; }
  bool try_acquire() { return in_use_.lock->try_lock(in_use_.state); }
  bool acquire(posix::limit until) { return acquire_with(in_use_, until); }

 private:
  lock_in_use in_use_;
};

// Under the guard (guard.h): whose choice may change, whose holder may be looked after.
class guarded_lock : public lock_in_mutex<guarded_lock> {
 public:
  using lock_in_mutex::lock_in_mutex;

  lock_in_use in_use() { return guards.epochs ? lock_in_use_of(object_) : choice(); }

  // What a thread has taken may count no more, or not yet: then it is given back (guard.h, I1).
  bool try_acquire() {
    for (;;) {
      const lock_in_use use = in_use();
      if (!use.lock->try_lock(use.state)) return false;
      if (keeps(use, 0)) return true;
    }
  }
  bool acquire(posix::limit until) {
    if (!guards.epochs) return wait_for(in_use(), until);
    std::uint64_t began = 0;
    for (;;) {
      const lock_in_use use = in_use();
      if (!use.lock->try_lock(use.state)) {
        if (began == 0) began = machine::ticks();
        if (!wait_for(use, until)) return false;
      }
      if (keeps(use, began != 0 ? (machine::ticks() - began) | 1 : 0)) return true;
    }
  }

 private:
  bool wait_for(const lock_in_use& use, posix::limit until) {
    return guards.slices && minds_holder(use) ? acquire_minding_holder(object_, use, until)
                                              : acquire_with(use, until);
  }
  // `waited`: ticks, 0 where it was free.
  bool keeps(const lock_in_use& use, std::uint64_t waited) {
    if (!guards.epochs) return true;
    if (shim::is_in_use(object_, use)) return note_acquisition(object_, use, waited, caller_), true;
    use.lock->unlock(use.state);
    return false;
  }
};

}  // namespace syncopate::shim
