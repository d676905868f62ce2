// rwlock_lock.h -- the lock behind a reader-writer lock of this library, as posix/rwlock.h wants
// it: auto_rwlock.h inside glibc's 56-byte pthread_rwlock_t, sections that are elided.
//
//   offset   0  auto_rwlock: word, guard, queue (24 bytes), and the writer's thread id at 24, where
//               glibc keeps __cur_writer
//           28  __shared     process-shared: then everything is glibc's
//           32  auto_rwlock: fork generation
//           40  record id    44  acquisitions (recording)
//           48  __flags      the kind, as glibc's init leaves it
//           52  what elision has learned of the lock    54  policy.h's choice
#pragma once

#include <syncopate/rwlocks/auto_rwlock.h>

#include <cstddef>

#include <pthread.h>

#include "posix/rwlock.h"
#include "preload/choice/policy.h"
#include "preload/config.h"
#include "preload/elision/elision.h"
#include "preload/elision/speculation.h"
#include "record/recorder.h"

namespace syncopate::shim {

using posix::side;

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
  void keep_choice(const decision& chosen) noexcept {
    choice = chosen.setting;
    chosen.taken();
  }

  alignas(8) unsigned char lock[28];
  int shared;
  std::uint64_t generation;  // the lock's, with its padding
  std::uint32_t slot;
  std::uint32_t count;
  unsigned kind;
  elide::learning learned;
  std::uint16_t choice;
};
static_assert(sizeof(rwlock_object) <= sizeof(pthread_rwlock_t));
static_assert(offsetof(rwlock_object, shared) == offsetof(pthread_rwlock_t, __data.__shared));
static_assert(offsetof(rwlock_object, kind) == offsetof(pthread_rwlock_t, __data.__flags));
static_assert(sizeof(auto_rwlock) <= offsetof(rwlock_object, slot));

class lock_in_rwlock {
 public:
  static constexpr bool tries_first = true;

  lock_in_rwlock(pthread_rwlock_t* l, const void* caller)
      : object_(rwlock_object::of(l)), caller_(caller) {}

  rwlock_object& object() { return object_; }
  [[nodiscard]] const void* caller() const { return caller_; }
  std::uint32_t identify() {
    return record::identify(record::object_kind::rwlock, 0, &object_, &object_.slot);
  }
  [[nodiscard]] std::uint32_t writer() {
    return static_cast<std::uint32_t>(ours().exclusive_owner());
  }
  bool is_contended() { return ours().contended(); }

  static bool is_destroyed() { return false; }  // destruction leaves no mark, as glibc's
  static void mark_destroyed() {}
  bool writes() { return ours().exclusive_owner() == machine::self(); }
  static bool reads() { return true; }  // nobody knows
  bool is_full_of_readers() { return ours().reader_count() >= auto_rwlock::max_readers; }
  bool is_in_use() { return ours().is_locked(); }

  bool try_acquire(side which) {
    return which == side::write ? ours().try_lock() : ours().try_lock_shared(object_.preference());
  }
  bool begin_acquire(side which, posix::limit until) {
    return which == side::write ? ours().try_lock()
                                : ours().begin_lock_shared(object_.preference(), until);
  }
  bool acquire(side which, posix::limit until) {
    if (until == nullptr && is_run_ahead_of() &&
        run_ahead_of(&object_, [this, which] { return try_acquire(which); }))
      return true;
    return which == side::write ? ours().lock_until(until)
                                : ours().lock_shared_until(object_.preference(), until);
  }
  // Whether acquire() has returned to run ahead, with nothing held.
  static bool runs_ahead() { return is_ahead(); }
  // Whether its waiters do: where those of the program's default lock do.
  static bool is_run_ahead_of() {
    return __builtin_expect(config.speculates, 0) && config.lock->traits.runs_ahead;
  }
  void release(side which) {
    if (is_run_ahead_of()) note_section(&object_, [this] { return identify(); });
    if (which == side::write) ours().unlock();
    else ours().unlock_shared();
  }
  static void note_holder(side) {}  // auto_rwlock notes its writer
  static void forget_holder(side) {}

  bool enters_elided(side which, posix::limit until) {
    return elides(which, until == nullptr ? retries::all : retries::none);
  }
  // Not by a transaction that would then wait for the lock, or abort.
  bool refuses_elided_try(side which) { return config.elides && !is_free_for(which); }
  bool enters_elided_try(side which) { return elides(which, retries::none); }
  bool leaves_elided() {
    return __builtin_expect(config.elides, 0) &&
           (leave_section(section_of(side::read)) || leave_section(section_of(side::write)));
  }
  static void stop_eliding() {
    if (config.elides) shim::stop_eliding();
  }

 private:
  auto_rwlock& ours() { return object_.ours(); }

  // The name of a section among those that the thread has elided: each side has one.
  const void* section_of(side which) {
    return reinterpret_cast<const char*>(&object_) + (which == side::write ? 0 : 1);
  }
  // Readers run beside readers; a writer beside whoever touches other lines.
  bool is_free_for(side which) {
    if (which == side::write) return !ours().is_locked();
    return !ours().is_write_locked() &&
           (object_.preference() == rw_preference::readers || !ours().contended());
  }
  bool elides(side which, retries how) {
    if (__builtin_expect(!config.asks_rwlocks, 1)) return false;
    // A lock that no init call has made.
    if (has_policy && object_.choice == 0)
      object_.keep_choice(choose_at_first_use(chooser::rwlock, &object_, caller_));
    if (!config.elides || (object_.choice & never_elide) != 0) return false;
    const side other = which == side::write ? side::read : side::write;
    // What excludes the one that this thread runs already, only the lock itself can answer.
    if (elide::section::active() && elide::section::contains(section_of(other)))
      shim::stop_eliding();
    if (writes()) return false;  // it would wait for itself
    const elide::retry_policy* const own = config.lock->elision;
    const bool always = (object_.choice & always_elide) != 0 || own != nullptr;
    return enter_section(
               {section_of(which), which == side::read}, how,
               own != nullptr ? *own : elision_policy, always ? nullptr : &object_.learned,
               [this, which] { return is_free_for(which); },
               [this] { return identify(); }) == elide::entry::elided;
  }

  rwlock_object& object_;
  const void* caller_;  // where the program's call returns to
};

}  // namespace syncopate::shim
