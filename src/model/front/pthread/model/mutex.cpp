// mutex.cpp -- mutexes for the explored machine: one word, two events to lock, one to unlock.
//
// Invariants
//   M1  The word (where glibc has it) is 1 exactly while a thread holds the mutex.
//   M2  Owner and depth are written by the holder only; they are no events, since they say nothing
//       that the word's order does not. The owner is the thread's index + 1, 0 when free.
//
// Misuse ends the run: what POSIX calls undefined (unlock of a normal mutex by a thread that does
// not hold it, any use after destruction, destruction while held), and locking a normal mutex twice,
// which hangs. Where POSIX gives an error, the program gets it.

#include <cerrno>

#include "model/front/pthread/model/words.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

using model::misuse;
// The fields are glibc's, of the same meaning: __lock the word, __count the depth, __nusers 1 while
// held.
using mutex_object = decltype(pthread_mutex_t::__data);

constexpr int unlocked = 0, locked = 1;
constexpr int destroyed = -1;  // __kind of a destroyed mutex, as in glibc

mutex_object& checked(pthread_mutex_t& m, place where) {
  mutex_object& o = m.__data;
  if (o.__kind == destroyed) misuse("use of a destroyed mutex", &m, where);
  return o;
}

int me() { return static_cast<int>(model::self()) + 1; }
bool is_recursive(const mutex_object& o) { return o.__kind == PTHREAD_MUTEX_RECURSIVE_NP; }

void note_holder(mutex_object& o) {
  o.__owner = me();
  o.__count = 1;
  o.__nusers = 1;
}

int relock(mutex_object& o) {
  if (o.__count + 1 == 0) return EAGAIN;
  ++o.__count;
  return 0;
}

}  // namespace

int mutex_lock(pthread_mutex_t& m, limit until, place where) {
  mutex_object& o = checked(m, where);
  if (o.__owner == me()) {
    if (is_recursive(o)) return relock(o);
    if (o.__kind == PTHREAD_MUTEX_ERRORCHECK_NP) return EDEADLK;
    // With a limit it is a legal way to wait in vain.
    if (until == nullptr) misuse("lock of a mutex that the thread already holds", &m, where);
  }
  if (until != nullptr && !posix::is_valid(until->at))
    return mutex_trylock(m, where) == 0 ? 0 : EINVAL;
  const model::word<int> word(o.__lock, where);
  do {
    int seen;
    const auto is_free = [](int value) { return value == unlocked; };
    if (!word.await(std::memory_order_relaxed, is_free, until, seen)) return ETIMEDOUT;
  } while (!word.replace(unlocked, locked, std::memory_order_acquire));
  note_holder(checked(m, where));  // destroyed while we waited for it
  return 0;
}

int mutex_trylock(pthread_mutex_t& m, place where) {
  mutex_object& o = checked(m, where);
  if (o.__owner == me() && is_recursive(o)) return relock(o);
  const model::word<int> word(o.__lock, where);
  if (!word.replace(unlocked, locked, std::memory_order_acquire)) return EBUSY;
  note_holder(o);
  return 0;
}

int mutex_unlock(pthread_mutex_t& m, place where) {
  mutex_object& o = checked(m, where);
  if (o.__owner != me() && (is_recursive(o) || o.__kind == PTHREAD_MUTEX_ERRORCHECK_NP))
    return EPERM;
  if (o.__owner != me()) misuse("unlock of a mutex that the thread does not hold", &m, where);
  if (--o.__count != 0) return 0;
  o.__owner = 0;
  o.__nusers = 0;
  model::word<int>(o.__lock, where).store(unlocked, std::memory_order_release);
  return 0;
}

int mutex_destroy(pthread_mutex_t& m, place where) {
  mutex_object& o = checked(m, where);
  if (o.__nusers != 0) misuse("destruction of a mutex that is held", &m, where);
  touch(&m, sizeof m, engine::kind::write, where);  // races with whoever still uses it
  o.__kind = destroyed;
  return 0;
}

}  // namespace syncopate::instrument::objects
