// mutex.cpp -- mutexes of a program on a modeled machine: what posix/mutex.h says, by the chosen
// algorithm. Instrumented.
//
// The object is laid out as in the preload library (mutex_object.h), and touched as glibc touches
// its own: kind, word, owner, user count, all in one cache line.

#include "posix/mutex.h"

#include "model/front/compiler/critical_sections.h"
#include "model/front/pthread/algorithm/chosen.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/robust_holds.h"
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

  // What a robust mutex's kind says of it, too; written by the holder alone.
  enum : int { left_behind = 1 << 16, lost = 1 << 17 };
  static bool is_robust(int kind) { return kind > 0 && (kind & robust_kind) != 0; }
  void take_over() {
    object_.owner = self();
    if (posix::is_recursive(object_.kind)) object_.depth = 1;
  }
  void set(int flag, bool on) {
    if (on) object_.kind |= flag;
    else object_.kind &= ~flag;
  }
  bool is(int flag) const { return (object_.kind & flag) != 0; }

  bool is_in_use() {
    return object_.users != 0 || (chosen::shuns_owner() && chosen::is_locked(state()));
  }
  void mark_destroyed() { object_.kind = posix::destroyed_mutex; }

 private:
  void* state() { return object_.state(chosen::glibc_word()); }
  static bool notes_owner(int kind) {
    if (chosen::keeps_owner()) return false;
    return !chosen::shuns_owner() || posix::is_recursive(kind) || posix::is_errorcheck(kind) ||
           is_robust(kind);
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

// A robust mutex was taken: what its last holder has left. One that is lost is given back at once,
// to the next who waits.
int take_robust(lock l, sections w) {
  if (posix::is_recursive(l.kind()) && l.depth() > 1) return 0;
  if (l.is(lock::lost)) {
    posix::unlock_mutex(l, w);
    return ENOTRECOVERABLE;
  }
  note_robust_hold(w.mutex, machine::self());
  return l.is(lock::left_behind) ? EOWNERDEAD : 0;
}

int unlock_robust(lock l, sections w) {
  if (l.holder() != lock::self()) return EPERM;
  if (!posix::is_recursive(l.kind()) || l.depth() == 1) {
    forget_robust_hold(w.mutex);
    if (l.is(lock::left_behind)) l.set(lock::lost, true);
  }
  return posix::unlock_mutex(l, w);
}

void leave_behind(pthread_mutex_t& m, place where) {
  const lock_code not_the_sections;
  lock l(m);
  l.set(lock::left_behind, true);
  l.take_over();
  posix::unlock_mutex(l, sections(m, where));
}

}  // namespace

int mutex_lock(pthread_mutex_t& m, limit until, place where) {
  const lock_code not_the_sections(&m, lock_kind::mutex, until != nullptr);
  const lock l(m);
  const bool robust = lock::is_robust(l.kind());
  const int result = posix::lock_mutex(l, sections(m, where), until);
  return robust && result == 0 ? take_robust(l, sections(m, where)) : result;
}
int mutex_trylock(pthread_mutex_t& m, place where) {
  const lock_code not_the_sections;
  const lock l(m);
  const bool robust = lock::is_robust(l.kind());
  const int result = posix::try_lock_mutex(l, sections(m, where));
  return robust && result == 0 ? take_robust(l, sections(m, where)) : result;
}
int mutex_unlock(pthread_mutex_t& m, place where) {
  const lock_code not_the_sections;
  const lock l(m);
  if (lock::is_robust(l.kind())) return unlock_robust(l, sections(m, where));
  return posix::unlock_mutex(l, sections(m, where));
}
int mutex_consistent(pthread_mutex_t& m, place) {
  lock l(m);
  if (!lock::is_robust(l.kind()) || l.holder() != lock::self() || !l.is(lock::left_behind))
    return EINVAL;
  l.set(lock::left_behind, false);
  return 0;
}
void thread_ends(place where) {
  const auto self = static_cast<unsigned>(lock::self());
  while (pthread_mutex_t* const held = take_robust_hold(self)) leave_behind(*held, where);
}
void process_ends(place where) {
  if (!chosen::glibc_word()) return;  // a queue's nodes are their threads'
  while (pthread_mutex_t* const held = take_robust_hold()) leave_behind(*held, where);
}
void forget_threads() { forget_robust_holds(); }
int mutex_destroy(pthread_mutex_t& m, place where) {
  return posix::destroy_mutex(lock(m), sections(m, where));
}

}  // namespace syncopate::instrument::objects
