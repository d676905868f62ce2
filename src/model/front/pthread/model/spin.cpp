// spin.cpp -- spin locks for the explored machine: what posix/spin.h says, with a word that names
// the holder. Misuse ends the run: unlocking what the thread does not hold, destruction while held.
//
// Memory order (each tag stands at its site below)
//   [L]  acquire: the section before happens-before this one.
//   [U]  release -- synchronizes with [L].

#include "posix/spin.h"

#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

using posix::spin_free;  // held: 0, -1, ... for thread 0, 1, ...

int held() { return posix::spin_held - static_cast<int>(model::self()); }

struct free_to_held {
  static bool may_enter(int value) { return value == spin_free; }
  static int entered(int /*value*/) { return held(); }
};

class lock {
 public:
  static constexpr bool tries_first = false;  // each step is a branching point
  lock(pthread_spinlock_t& l, place where) : value_(const_cast<int&>(l)), where_(where) {}

  bool is_held_by_caller() const { return value_ == held(); }
  bool is_free() const { return value_ == spin_free; }
  bool try_acquire() {
    return word().replace(spin_free, held(), std::memory_order_acquire);  // [L]
  }
  void acquire() { model::take(value_, free_to_held(), nullptr, where_); }
  void release() { word().store(spin_free, std::memory_order_release); }  // [U]
  void mark_destroyed() { touch(&value_, sizeof value_, engine::kind::write, where_); }

  [[noreturn]] void misused(const char* what) { model::misuse(what, &value_, where_); }

 private:
  [[nodiscard]] model::word<int> word() const { return {value_, where_}; }
  int& value_;
  place where_;
};

struct strict : posix::nobody_watches_spin {
  static constexpr bool asks_for_holder = true;
  [[noreturn]] static void unlocks_foreign(lock& l) {
    l.misused("unlock of a spin lock that the thread does not hold");
  }
  static void about_to_destroy(lock& l) {
    if (!l.is_free()) l.misused("destruction of a spin lock that is held");
  }
};

}  // namespace

void spin_init(pthread_spinlock_t& l, place /*where*/) { const_cast<int&>(l) = spin_free; }

int spin_lock(pthread_spinlock_t& l, place where) {
  return posix::lock_spin(lock(l, where), strict());
}

int spin_trylock(pthread_spinlock_t& l, place where) {
  return posix::try_lock_spin(lock(l, where), strict());
}

int spin_unlock(pthread_spinlock_t& l, place where) {
  return posix::unlock_spin(lock(l, where), strict());
}

int spin_destroy(pthread_spinlock_t& l, place where) {
  return posix::destroy_spin(lock(l, where), strict());
}

}  // namespace syncopate::instrument::objects
