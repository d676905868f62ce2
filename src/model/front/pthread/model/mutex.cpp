// mutex.cpp -- mutexes for the explored machine: what posix/mutex.h says, with a lock of one word,
// one event to lock, one to unlock.
//
// Invariants
//   M1  The word (where glibc has it) is 1 exactly while a thread holds the mutex.
//       A robust one that its thread has left behind is not held: the word is 2 then, and 3 once it
//       was given back without having been made consistent.
//   M2  Owner and depth are written by the holder only; they are no events, since they say nothing
//       that the word's order does not. The owner is the thread's index + 1, 0 when free.
//
// Misuse ends the run: what POSIX calls undefined (unlock of a normal mutex by a thread that does
// not hold it, any use after destruction, destruction while held), and locking a normal mutex
// twice, which hangs. Where POSIX gives an error, the program gets it; so with robust mutexes, of
// which a thread that ends with some held leaves a word behind in each.
//
// Memory order (each tag stands at its site below)
//   [L]  acquire: the section before happens-before this one.
//   [U]  release -- synchronizes with [L].

#include "posix/mutex.h"

#include <utility>

#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/robust_holds.h"

namespace syncopate::instrument::objects {
namespace {

enum : int { unlocked = 0, locked = 1, left_behind = 2, lost = 3 };  // M1

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

  pthread_mutex_t& of() const { return mutex_; }
  bool is_robust() const { return kind() > 0 && (kind() & robust_kind) != 0; }
  // What was found: the mutex is held now if it was unlocked or left behind; locked: the limit has
  // passed, or it was only tried.
  int acquire_robust(limit until, bool tries) {
    constexpr engine::predicate may = [](void*, std::uint64_t value) { return value != locked; };
    constexpr model::successor next = [](void*, std::uint64_t value) -> std::uint64_t {
      return value == lost ? lost : locked;
    };
    constexpr unsigned bytes = sizeof fields().__lock;
    constexpr auto order = std::memory_order_acquire;  // [L]
    const auto word = at(&fields().__lock);
    const std::uint64_t ticks = to_ticks(until);
    return on_engine([&] {
      std::uint64_t found = 0;
      if (tries) found = model::modify(word, bytes, order, next, nullptr, where_);          // [L]
      else if (!model::take(word, bytes, order, may, next, nullptr, ticks, found, where_))  // [L]
        found = locked;
      return static_cast<int>(found);
    });
  }
  void release_robust() {
    word().store(std::exchange(inconsistent(), 0) != 0 ? lost : unlocked,
                 std::memory_order_release);  // [U]
  }
  void leave_behind() {
    forget_holder(kind());
    inconsistent() = 1;
    word().store(left_behind, std::memory_order_release);  // [U]
  }
  // Where glibc has what is elided, which robust mutexes are not.
  short& inconsistent() { return fields().__elision; }

 private:
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

// What POSIX says of robust mutexes: also one of the normal type is asked for its holder.
int lock_robust(lock l, limit until, bool tries) {
  const int kind = l.kind();
  if (l.holder() == l.self()) {
    if (posix::is_recursive(kind)) return posix::detail::relock(l);
    if (tries) return EBUSY;
    if (posix::is_errorcheck(kind)) return EDEADLK;
    if (until == nullptr) strict().locks_again(l);
  }
  const bool is_valid = until == nullptr || posix::is_valid(until->at);
  const int found = l.acquire_robust(until, tries || !is_valid);
  if (found == lost) return ENOTRECOVERABLE;
  if (found == locked) return !is_valid ? EINVAL : tries ? EBUSY : ETIMEDOUT;
  l.note_holder(kind);
  note_robust_hold(l.of(), model::self());
  return found == left_behind ? EOWNERDEAD : 0;
}

int unlock_robust(lock l) {
  if (l.holder() != l.self()) return EPERM;
  if (posix::is_recursive(l.kind()) && --l.depth() != 0) return 0;
  forget_robust_hold(l.of());
  l.forget_holder(l.kind());
  l.release_robust();
  return 0;
}

}  // namespace

void forget_threads() { forget_robust_holds(); }

void thread_ends(place where) {
  const unsigned self = model::self();
  while (pthread_mutex_t* const held = take_robust_hold(self)) lock(*held, where).leave_behind();
}
void process_ends(place) {}

int mutex_consistent(pthread_mutex_t& m, place where) {
  lock l(m, where);
  if (!l.is_robust() || l.holder() != l.self() || l.inconsistent() == 0) return EINVAL;
  l.inconsistent() = 0;
  return 0;
}

int mutex_lock(pthread_mutex_t& m, limit until, place where) {
  lock l(m, where);
  return l.is_robust() ? lock_robust(l, until, false) : posix::lock_mutex(l, strict(), until);
}

int mutex_trylock(pthread_mutex_t& m, place where) {
  lock l(m, where);
  return l.is_robust() ? lock_robust(l, nullptr, true) : posix::try_lock_mutex(l, strict());
}

int mutex_unlock(pthread_mutex_t& m, place where) {
  lock l(m, where);
  return l.is_robust() ? unlock_robust(l) : posix::unlock_mutex(l, strict());
}

int mutex_destroy(pthread_mutex_t& m, place where) {
  return posix::destroy_mutex(lock(m, where), strict());
}

}  // namespace syncopate::instrument::objects
