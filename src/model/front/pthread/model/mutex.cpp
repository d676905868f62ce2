// mutex.cpp -- mutexes for the explored machine: what posix/mutex.h says, with a lock of one word,
// one event to lock, one to unlock.
//
// Invariants
//   M1  The word (where glibc has it) is 1 exactly while a thread holds the mutex.
//   M2  Owner and depth are written by the holder only; they are no events, since they say nothing
//       that the word's order does not. The owner is the thread's index + 1, 0 when free.
//
// Misuse ends the run: what POSIX calls undefined (unlock of a normal mutex by a thread that does
// not hold it, any use after destruction, destruction while held), and locking a normal mutex
// twice, which hangs. Where POSIX gives an error, the program gets it.
//
// Memory order (each tag stands at its site below)
//   [L]  acquire: the section before happens-before this one.
//   [U]  release -- synchronizes with [L].

#include "posix/mutex.h"

#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

class lock : public posix::not_elided_lock {
 public:
  lock(pthread_mutex_t& m, place where) : mutex_(m), where_(where) {
    model::note_use(&fields().__kind, where);
  }

  int kind() const { return fields().__kind; }
  int holder() const { return fields().__owner; }
  static int self() { return static_cast<int>(model::self()) + 1; }
  std::uint32_t& depth() { return fields().__count; }

  bool try_acquire() { return word().replace(unlocked, locked, std::memory_order_acquire); }  // [L]
  bool acquire(limit until) {
    if (!model::take(fields().__lock, free_to_held(), until, where_)) return false;
    if (kind() == posix::destroyed_mutex) misused("use of a destroyed mutex");  // while we waited
    return true;
  }

  void note_holder(int /*kind*/) {
    fields().__owner = self();
    fields().__count = 1;
    fields().__nusers = 1;
    model::note_held(mutex_, "mutex", 1, where_);
  }
  bool forget_holder(int /*kind*/) {
    fields().__owner = 0;
    fields().__nusers = 0;
    model::note_held(mutex_, "mutex", -1, where_);
    return true;
  }
  void release() { word().store(unlocked, std::memory_order_release); }  // [U]

  bool is_in_use() const { return fields().__nusers != 0; }
  void mark_destroyed() {
    touch(&mutex_, sizeof mutex_, engine::kind::write, where_);  // races with who still uses it
    fields().__kind = posix::destroyed_mutex;
  }

  [[noreturn]] void misused(const char* what) { model::misuse(what, &mutex_, where_); }

 private:
  enum : int { unlocked = 0, locked = 1 };
  struct free_to_held {
    static bool may_enter(int value) { return value == unlocked; }
    static int entered(int /*value*/) { return locked; }
  };
  // glibc's, of the same meaning: __lock the word, __count the depth, __nusers 1 while held.
  decltype(pthread_mutex_t::__data)& fields() const { return mutex_.__data; }
  model::word<int> word() const { return {fields().__lock, where_}; }

  pthread_mutex_t& mutex_;
  place where_;
};

struct strict : posix::nobody_watches {
  static constexpr bool asks_for_holder = true;
  [[noreturn]] void locks_again(lock& l) const {
    l.misused("lock of a mutex that the thread already holds");
  }
  [[noreturn]] void unlocks_foreign(lock& l) const {
    l.misused("unlock of a mutex that the thread does not hold");
  }
  [[noreturn]] void uses_destroyed(lock& l) const { l.misused("use of a destroyed mutex"); }
  void about_to_destroy(lock& l) const {
    if (l.kind() == posix::destroyed_mutex) uses_destroyed(l);
    if (l.is_in_use()) l.misused("destruction of a mutex that is held");
  }
};

}  // namespace

int mutex_lock(pthread_mutex_t& m, limit until, place where) {
  return posix::lock_mutex(lock(m, where), strict(), until);
}

int mutex_trylock(pthread_mutex_t& m, place where) {
  return posix::try_lock_mutex(lock(m, where), strict());
}

int mutex_unlock(pthread_mutex_t& m, place where) {
  return posix::unlock_mutex(lock(m, where), strict());
}

int mutex_destroy(pthread_mutex_t& m, place where) {
  return posix::destroy_mutex(lock(m, where), strict());
}

}  // namespace syncopate::instrument::objects
