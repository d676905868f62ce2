// mutex.cpp -- mutexes of a program on a modeled machine: what posix/mutex.h says, by the chosen
// algorithm. Instrumented.
//
// The object is laid out as in the preload library (mutex_object.h), and touched as glibc touches
// its own: kind, word, owner, user count, all in one cache line.

#include "posix/mutex.h"

#include "model/front/compiler/critical_sections.h"
#include "model/front/pthread/algorithm/chosen.h"
#include "model/front/pthread/objects.h"
#include "posix/poll_until.h"
#include "preload/choice/mutex_object.h"

namespace syncopate::instrument::objects {
namespace {

using shim::mutex_object;

class lock : public posix::not_elided_lock {
 public:
  explicit lock(pthread_mutex_t& m) : object_(mutex_object::of(&m)) {}

  int kind() const { return object_.kind; }
  int holder() const { return object_.owner; }
  static int self() { return machine::self(); }
  std::uint32_t& depth() { return object_.depth; }

  bool try_acquire() { return chosen::try_lock(state()); }
  bool acquire(limit until) {
    void* const s = state();
    if (until == nullptr) return chosen::lock(s), true;
    if (chosen::is_timed()) return chosen::lock_until(s, *until);
    return posix::poll_until(*until, [s] { return chosen::try_lock(s); });
  }

  void note_holder(int kind) {
    if (notes_owner(kind)) {
      object_.owner = machine::self();
      object_.users = 1;
    }
    if (posix::is_recursive(kind)) object_.depth = 1;
  }
  bool forget_holder(int kind) {
    if (!notes_owner(kind)) return true;
    // A queue lock that is free would wait for a successor that does not exist.
    if (!chosen::glibc_word() && object_.users == 0) return false;
    object_.owner = 0;
    object_.users = 0;
    return true;
  }
  void release() { chosen::unlock(state()); }

  bool is_in_use() {
    return object_.users != 0 || (chosen::shuns_owner() && chosen::is_locked(state()));
  }
  void mark_destroyed() { object_.kind = posix::destroyed_mutex; }

 private:
  void* state() { return object_.state(chosen::glibc_word()); }
  static bool notes_owner(int kind) {
    if (chosen::keeps_owner()) return false;
    return !chosen::shuns_owner() || posix::is_recursive(kind) || posix::is_errorcheck(kind);
  }

  mutex_object& object_;
};

// Tells the machine of critical sections.
struct sections : posix::nobody_watches {
  sections(pthread_mutex_t& m, place w) : mutex(m), where(w) {}
  void entered(lock&) const { section_begun(&mutex, false, where); }
  void release(lock& l) const {
    section_ended(&mutex);
    l.release();
  }
  pthread_mutex_t& mutex;
  place where;
};

}  // namespace

int mutex_lock(pthread_mutex_t& m, limit until, place where) {
  const lock_code not_the_sections(&m, lock_kind::mutex, until != nullptr);
  return posix::lock_mutex(lock(m), sections(m, where), until);
}
int mutex_trylock(pthread_mutex_t& m, place where) {
  const lock_code not_the_sections;
  return posix::try_lock_mutex(lock(m), sections(m, where));
}
int mutex_unlock(pthread_mutex_t& m, place where) {
  const lock_code not_the_sections;
  return posix::unlock_mutex(lock(m), sections(m, where));
}
// No mutex is ever inconsistent.
int mutex_consistent(pthread_mutex_t&, place) { return EINVAL; }
void thread_ends(place) {}
void forget_threads() {}
int mutex_destroy(pthread_mutex_t& m, place where) {
  return posix::destroy_mutex(lock(m), sections(m, where));
}

}  // namespace syncopate::instrument::objects
