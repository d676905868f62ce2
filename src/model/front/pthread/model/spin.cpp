// spin.cpp -- spin locks for the explored machine: a word that names the holder. Misuse ends the
// run: unlocking what the thread does not hold, destruction while held.

#include <cerrno>

#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

constexpr int unlocked = 1;  // as in glibc on x86; held: 0, -1, ... for thread 0, 1, ...

int locked() { return -static_cast<int>(model::self()); }

struct free_to_held {
  static bool may_enter(int value) { return value == unlocked; }
  static int entered(int /*value*/) { return locked(); }
};

model::word<int> word_of(pthread_spinlock_t& l, place where) {
  return {const_cast<int&>(l), where};
}

}  // namespace

void spin_init(pthread_spinlock_t& l, place /*where*/) { const_cast<int&>(l) = unlocked; }

int spin_lock(pthread_spinlock_t& l, place where) {
  model::take(const_cast<int&>(l), free_to_held(), nullptr, where);
  return 0;
}

int spin_trylock(pthread_spinlock_t& l, place where) {
  return word_of(l, where).replace(unlocked, locked(), std::memory_order_acquire) ? 0 : EBUSY;
}

int spin_unlock(pthread_spinlock_t& l, place where) {
  if (const_cast<int&>(l) != locked())
    model::misuse("unlock of a spin lock that the thread does not hold", const_cast<const int*>(&l),
                  where);
  word_of(l, where).store(unlocked, std::memory_order_release);
  return 0;
}

int spin_destroy(pthread_spinlock_t& l, place where) {
  if (const_cast<int&>(l) != unlocked)
    model::misuse("destruction of a spin lock that is held", const_cast<const int*>(&l), where);
  touch(&l, sizeof l, engine::kind::write, where);
  return 0;
}

}  // namespace syncopate::instrument::objects
