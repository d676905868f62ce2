// rwlock.cpp -- reader-writer locks for the explored machine: one word, the number of readers
// or `exclusive`. Neither side is preferred: the exploration tries both.
//
// Misuse ends the run: unlocking what the thread does not hold, use after destruction, destruction
// while held.

#include <cerrno>

#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

using model::misuse;

constexpr std::uint32_t exclusive = UINT32_MAX, most_readers = exclusive - 1;

struct rwlock_object {
  std::uint32_t state;
  std::uint32_t writer;  // index + 1 of the thread that holds it exclusively; no event
  bool destroyed;
  std::uint8_t reads[16];  // how often a thread (by its index mod 16) holds it shared; no event
};
static_assert(sizeof(rwlock_object) <= offsetof(pthread_rwlock_t, __data.__flags));

rwlock_object& checked(pthread_rwlock_t& l, place where) {
  auto& o = *reinterpret_cast<rwlock_object*>(&l);
  if (o.destroyed) misuse("use of a destroyed reader-writer lock", &l, where);
  model::note_use(&o.destroyed, where);
  return o;
}

struct entry {
  side which;
  [[nodiscard]] bool may_enter(std::uint32_t state) const {
    return which == side::write ? state == 0 : state < most_readers;
  }
  [[nodiscard]] std::uint32_t entered(std::uint32_t state) const {
    return which == side::write ? exclusive : state + 1;
  }
};

void note_holder(rwlock_object& o, side which, place where) {
  if (which == side::write) o.writer = model::self() + 1;
  else ++o.reads[model::self() % 16];
  model::note_held(reinterpret_cast<pthread_rwlock_t&>(o), "reader-writer lock", 1, where);
}

void note_left(rwlock_object& o, place where) {
  model::note_held(reinterpret_cast<pthread_rwlock_t&>(o), "reader-writer lock", -1, where);
}

}  // namespace

int rwlock_lock(pthread_rwlock_t& l, side which, limit until, place where) {
  rwlock_object& o = checked(l, where);
  if (o.writer == model::self() + 1) return EDEADLK;
  if (!model::take(o.state, entry{which}, until, where)) return ETIMEDOUT;
  note_holder(checked(l, where), which, where);
  return 0;
}

int rwlock_trylock(pthread_rwlock_t& l, side which, place where) {
  rwlock_object& o = checked(l, where);
  // (Not a load, which may be stale: trylock must not fail on a lock that is free.)
  if (!model::try_take(o.state, entry{which}, where)) return EBUSY;
  note_holder(o, which, where);
  return 0;
}

int rwlock_unlock(pthread_rwlock_t& l, place where) {
  rwlock_object& o = checked(l, where);
  const model::word<std::uint32_t> word(o.state, where);
  if (o.writer == model::self() + 1) {
    o.writer = 0;
    note_left(o, where);
    word.store(0, std::memory_order_release);
    return 0;
  }
  if (o.reads[model::self() % 16] == 0)
    misuse("unlock of a reader-writer lock that the thread does not hold", &l, where);
  --o.reads[model::self() % 16];
  note_left(o, where);
  word.add(~0u, std::memory_order_release);  // one reader less
  return 0;
}

int rwlock_destroy(pthread_rwlock_t& l, place where) {
  rwlock_object& o = checked(l, where);
  if (o.state != 0) misuse("destruction of a reader-writer lock that is held", &l, where);
  touch(&l, sizeof l, engine::kind::write, where);
  o.destroyed = true;
  return 0;
}

}  // namespace syncopate::instrument::objects
