// spin.cpp -- spin locks of a program on a modeled machine: what posix/spin.h says, test-and-test-
// and-set as glibc's. Instrumented.
//
// Memory order (each tag stands at its site below)
//   [L]  acquire RMW that takes the lock -- synchronizes with [U].
//   [U]  release store.
//   [G]  relaxed look: decides only when [L] is tried.
//   [I]  relaxed: the program has to order the initialization before all uses.

#include "posix/spin.h"

#include <syncopate/machine.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

std::atomic<int>& word_of(pthread_spinlock_t& l) {
  return *reinterpret_cast<std::atomic<int>*>(const_cast<int*>(&l));
}

class lock {
 public:
  static constexpr bool tries_first = true;
  explicit lock(pthread_spinlock_t& l) : word_(word_of(l)) {}

  static bool is_held_by_caller() { return true; }  // nobody knows
  bool try_acquire() {
    return word_.exchange(posix::spin_held, std::memory_order_acquire) == posix::spin_free;  // [L]
  }
  void acquire() {
    do
      machine::wait_until(word_, std::memory_order_relaxed,  // [G]
                          [](int value) { return value == posix::spin_free; });
    while (!try_acquire());
  }
  void release() { word_.store(posix::spin_free, std::memory_order_release); }  // [U]
  static void mark_destroyed() {}

 private:
  std::atomic<int>& word_;
};

// Tells the machine of critical sections.
struct sections : posix::nobody_watches_spin {
  sections(pthread_spinlock_t& l, place w) : object(l), where(w) {}
  void entered(lock&) const { section_begun(&object, false, where); }
  void release(lock& l) const {
    section_ended(&object);
    l.release();
  }
  pthread_spinlock_t& object;
  place where;
};

}  // namespace

void spin_init(pthread_spinlock_t& l, place /*where*/) {
  word_of(l).store(posix::spin_free, std::memory_order_relaxed);  // [I]
}

int spin_lock(pthread_spinlock_t& l, place where) {
  const lock_code not_the_sections(&l, lock_kind::other, false);
  return posix::lock_spin(lock(l), sections(l, where));
}

int spin_trylock(pthread_spinlock_t& l, place where) {
  const lock_code not_the_sections;
  return posix::try_lock_spin(lock(l), sections(l, where));
}

int spin_unlock(pthread_spinlock_t& l, place where) {
  const lock_code not_the_sections;
  return posix::unlock_spin(lock(l), sections(l, where));
}

int spin_destroy(pthread_spinlock_t& l, place where) {
  return posix::destroy_spin(lock(l), sections(l, where));
}

}  // namespace syncopate::instrument::objects
