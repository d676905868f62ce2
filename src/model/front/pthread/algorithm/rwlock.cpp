// rwlock.cpp -- reader-writer locks, by auto_rwlock.h. Instrumented.

#include <syncopate/rwlocks/auto_rwlock.h>

#include <cerrno>

#include "model/front/compiler/critical_sections.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

static_assert(sizeof(auto_rwlock) <= offsetof(pthread_rwlock_t, __data.__flags));

auto_rwlock& of(pthread_rwlock_t& l) { return *reinterpret_cast<auto_rwlock*>(&l); }

rw_preference preference_of(const pthread_rwlock_t& l) {
  return l.__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP ? rw_preference::writers
                                                                          : rw_preference::readers;
}

}  // namespace

int rwlock_trylock(pthread_rwlock_t& l, side which, place where) {
  const lock_code not_the_sections;
  const bool held =
      which == side::write ? of(l).try_lock() : of(l).try_lock_shared(preference_of(l));
  if (!held) return EBUSY;
  section_begun(&l, which == side::read, where);
  return 0;
}

int rwlock_lock(pthread_rwlock_t& l, side which, limit until, place where) {
  if (rwlock_trylock(l, which, where) == 0) return 0;
  const lock_code not_the_sections(&l, lock_kind::other, until != nullptr);
  if (of(l).exclusive_owner() == machine::self()) return EDEADLK;
  if (which == side::read && of(l).reader_count() >= auto_rwlock::max_readers) return EAGAIN;
  const bool held = which == side::write ? of(l).lock_until(until)
                                         : of(l).lock_shared_until(preference_of(l), until);
  if (!held) return ETIMEDOUT;
  section_begun(&l, which == side::read, where);
  return 0;
}

int rwlock_unlock(pthread_rwlock_t& l, place /*where*/) {
  const lock_code not_the_sections;
  section_ended(&l);
  if (of(l).exclusive_owner() == machine::self()) of(l).unlock();
  else of(l).unlock_shared();
  return 0;
}

int rwlock_destroy(pthread_rwlock_t& /*lock*/, place /*where*/) { return 0; }

}  // namespace syncopate::instrument::objects
