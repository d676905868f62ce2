// rwlock.cpp -- reader-writer locks of a program on a modeled machine: what posix/rwlock.h says, by
// auto_rwlock.h. Instrumented.

#include "posix/rwlock.h"

#include <syncopate/rwlocks/auto_rwlock.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

static_assert(sizeof(auto_rwlock) <= offsetof(pthread_rwlock_t, __data.__flags));

class lock : public posix::not_elided_rwlock {
 public:
  static constexpr bool tries_first = true;
  explicit lock(pthread_rwlock_t& l) : object_(l) {}

  static bool is_destroyed() { return false; }
  static void mark_destroyed() {}
  bool writes() { return ours().exclusive_owner() == machine::self(); }
  static bool reads() { return true; }  // nobody knows
  bool is_full_of_readers() { return ours().reader_count() >= auto_rwlock::max_readers; }
  bool is_in_use() { return ours().is_locked(); }

  bool try_acquire(side which) {
    return which == side::write ? ours().try_lock() : ours().try_lock_shared(preference());
  }
  bool begin_acquire(side which, limit until) {
    return which == side::write ? ours().try_lock() : ours().begin_lock_shared(preference(), until);
  }
  bool acquire(side which, limit until) {
    return which == side::write ? ours().lock_until(until)
                                : ours().lock_shared_until(preference(), until);
  }
  void release(side which) {
    if (which == side::write) ours().unlock();
    else ours().unlock_shared();
  }
  static void note_holder(side) {}
  static void forget_holder(side) {}

 private:
  auto_rwlock& ours() { return *reinterpret_cast<auto_rwlock*>(&object_); }
  rw_preference preference() const {
    return object_.__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
               ? rw_preference::writers
               : rw_preference::readers;
  }

  pthread_rwlock_t& object_;
};

// Tells the machine of critical sections.
struct sections : posix::nobody_watches_rwlock {
  sections(pthread_rwlock_t& l, place w) : object(l), where(w) {}
  void entered(lock&, side which) const { section_begun(&object, which == side::read, where); }
  void release(lock& l, side which) const {
    section_ended(&object);
    l.release(which);
  }
  pthread_rwlock_t& object;
  place where;
};

}  // namespace

int rwlock_lock(pthread_rwlock_t& l, side which, limit until, place where) {
  const lock_code not_the_sections(&l, lock_kind::other, until != nullptr);
  return posix::lock_rwlock(lock(l), sections(l, where), which, until);
}
int rwlock_trylock(pthread_rwlock_t& l, side which, place where) {
  const lock_code not_the_sections;
  return posix::try_lock_rwlock(lock(l), sections(l, where), which);
}
int rwlock_unlock(pthread_rwlock_t& l, place where) {
  const lock_code not_the_sections;
  return posix::unlock_rwlock(lock(l), sections(l, where));
}
int rwlock_destroy(pthread_rwlock_t& l, place where) {
  return posix::destroy_rwlock(lock(l), sections(l, where));
}

}  // namespace syncopate::instrument::objects
