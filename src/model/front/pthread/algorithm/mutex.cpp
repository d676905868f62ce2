// mutex.cpp -- mutexes of a program on a modeled machine, by the chosen algorithm.
// Instrumented.
//
// The object is laid out as in the preload library (mutex_object.h), and touched as glibc touches
// its own: kind, word, owner, user count, all in one cache line.

#include <cerrno>

#include "model/front/compiler/critical_sections.h"
#include "model/front/pthread/algorithm/chosen.h"
#include "model/front/pthread/objects.h"
#include "posix/times.h"
#include "pthread/mutex_object.h"

namespace syncopate::instrument::objects {
namespace {

using shim::mutex_object;

constexpr int destroyed = -1;  // __kind of a destroyed mutex, as in glibc

bool is_recursive(int kind) {
  return (kind & mutex_object::type_mask) == PTHREAD_MUTEX_RECURSIVE_NP;
}
bool is_errorcheck(int kind) {
  return (kind & mutex_object::type_mask) == PTHREAD_MUTEX_ERRORCHECK_NP;
}

void* state_of(mutex_object& o) { return o.state(chosen::glibc_word()); }

bool notes_owner(int kind) {
  if (chosen::keeps_owner()) return false;
  return !chosen::shuns_owner() || is_recursive(kind) || is_errorcheck(kind);
}

void note_holder(mutex_object& o, int kind) {
  if (notes_owner(kind)) {
    o.owner = machine::self();
    o.users = 1;
  }
  if (is_recursive(kind)) o.depth = 1;
}

// Timed waiting for algorithms that cannot leave their queue.
bool poll_until(void* state, const machine::deadline& until) {
  constexpr std::int64_t first_nap = 20'000, longest_nap = 1'000'000;  // ns
  static const std::uint32_t nobody_wakes = 0;
  for (std::int64_t nap = first_nap;; nap = nap < longest_nap ? 2 * nap : longest_nap) {
    if (chosen::try_lock(state)) return true;
    const std::int64_t left = machine::remaining(until);
    if (left <= 0) return false;
    const machine::deadline next = machine::after(nap < left ? nap : left);
    machine::park(&nobody_wakes, 0, &next);
  }
}

int acquire(void* state, limit until) {
  if (until == nullptr) {
    chosen::lock(state);
    return 0;
  }
  // POSIX: an invalid time matters only when the call would block.
  if (!posix::is_valid(until->at)) return chosen::try_lock(state) ? 0 : EINVAL;
  const bool held =
      chosen::is_timed() ? chosen::lock_until(state, *until) : poll_until(state, *until);
  return held ? 0 : ETIMEDOUT;
}

// 0 when the recursion went one deeper.
int relock(mutex_object& o) {
  if (o.depth + 1 == 0) return EAGAIN;
  ++o.depth;
  return 0;
}

}  // namespace

int mutex_lock(pthread_mutex_t& m, limit until, place where) {
  const lock_code not_the_sections(&m, lock_kind::mutex, until != nullptr);
  mutex_object& o = mutex_object::of(&m);
  const int kind = o.kind;
  if (kind == destroyed) return EINVAL;
  if (is_recursive(kind) && o.owner == machine::self()) return relock(o);
  if (is_errorcheck(kind) && o.owner == machine::self()) return EDEADLK;
  const int result = acquire(state_of(o), until);
  if (result != 0) return result;
  note_holder(o, kind);
  section_begun(&m, false, where);
  return 0;
}

int mutex_trylock(pthread_mutex_t& m, place where) {
  const lock_code not_the_sections;
  mutex_object& o = mutex_object::of(&m);
  const int kind = o.kind;
  if (kind == destroyed) return EINVAL;
  if (is_recursive(kind) && o.owner == machine::self()) return relock(o);
  if (!chosen::try_lock(state_of(o))) return EBUSY;
  note_holder(o, kind);
  section_begun(&m, false, where);
  return 0;
}

int mutex_unlock(pthread_mutex_t& m, place /*where*/) {
  const lock_code not_the_sections;
  mutex_object& o = mutex_object::of(&m);
  const int kind = o.kind;
  if (kind == destroyed) return EINVAL;
  if (is_recursive(kind) || is_errorcheck(kind)) {
    if (o.owner != machine::self()) return EPERM;
    if (is_recursive(kind) && --o.depth != 0) return 0;
  }
  if (notes_owner(kind)) {
    // glibc tolerates the unlock of a free mutex; a queue lock would wait for a successor that does
    // not exist.
    if (!chosen::glibc_word() && o.users == 0) return 0;
    o.owner = 0;
    o.users = 0;
  }
  section_ended(&m);
  chosen::unlock(state_of(o));
  return 0;
}

int mutex_destroy(pthread_mutex_t& m, place /*where*/) {
  mutex_object& o = mutex_object::of(&m);
  if (o.users != 0 || (chosen::shuns_owner() && chosen::is_locked(state_of(o)))) return EBUSY;
  o.kind = destroyed;
  return 0;
}

}  // namespace syncopate::instrument::objects
