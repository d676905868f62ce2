// spin.cpp -- spin locks, test-and-test-and-set as glibc's. Instrumented.

#include <syncopate/machine.h>

#include <cerrno>

#include "model/front/compiler/critical_sections.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

enum : int { unlocked = 1, locked = 0 };  // glibc's values on x86

std::atomic<int>& word_of(pthread_spinlock_t& l) {
  return *reinterpret_cast<std::atomic<int>*>(const_cast<int*>(&l));
}

}  // namespace

void spin_init(pthread_spinlock_t& l, place /*where*/) {
  word_of(l).store(unlocked, std::memory_order_relaxed);
}

int spin_lock(pthread_spinlock_t& l, place where) {
  const lock_code not_the_sections(&l, lock_kind::other, false);
  std::atomic<int>& word = word_of(l);
  while (word.exchange(locked, std::memory_order_acquire) != unlocked)
    machine::wait_until(word, std::memory_order_relaxed,
                        [](int value) { return value == unlocked; });
  section_begun(&l, false, where);
  return 0;
}

int spin_trylock(pthread_spinlock_t& l, place where) {
  const lock_code not_the_sections;
  if (word_of(l).exchange(locked, std::memory_order_acquire) != unlocked) return EBUSY;
  section_begun(&l, false, where);
  return 0;
}

int spin_unlock(pthread_spinlock_t& l, place /*where*/) {
  const lock_code not_the_sections;
  section_ended(&l);
  word_of(l).store(unlocked, std::memory_order_release);
  return 0;
}

int spin_destroy(pthread_spinlock_t& /*lock*/, place /*where*/) { return 0; }

}  // namespace syncopate::instrument::objects
