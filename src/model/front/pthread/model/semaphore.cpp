// semaphore.cpp -- POSIX semaphores for the explored machine: the value alone, one event a call.

#include <cerrno>

#include "model/front/pthread/cancel.h"
#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/semaphore_object.h"

namespace syncopate::instrument::objects {
namespace {

// As the C library's, with a word of ours behind it.
struct object {
  std::uint64_t data;
  std::uint32_t destroyed;
};
static_assert(sizeof(object) <= sizeof(sem_t));

std::uint64_t& data_of(sem_t& s) {
  return reinterpret_cast<std::uint64_t&>(semaphore_object::of(s).data);
}

constexpr std::uint32_t is_destroyed = 0x64657374;  // not what memory usually holds

std::uint64_t& checked(sem_t& s, place where) {
  auto& o = *reinterpret_cast<object*>(&s);
  if (o.destroyed == is_destroyed) model::misuse("use of a destroyed semaphore", &s, where);
  model::note_use(&o.destroyed, where);
  return o.data;
}

struct one_token {
  static bool may_enter(std::uint64_t value) { return value != 0; }
  static std::uint64_t entered(std::uint64_t value) { return value - 1; }
};

}  // namespace

void semaphore_init(sem_t& s, unsigned value, place /*where*/) {
  reinterpret_cast<object&>(s).destroyed = 0;
  data_of(s) = value;
}

void semaphore_destroy(sem_t& s, place where) {
  (void)checked(s, where);
  touch(&s, sizeof s, engine::kind::write, where);
  reinterpret_cast<object&>(s).destroyed = is_destroyed;
}

int semaphore_wait(sem_t& s, limit until, place where) {
  test_cancel();
  return model::take(checked(s, where), one_token(), until, where) ? 0 : ETIMEDOUT;
}

int semaphore_trywait(sem_t& s, place where) {
  // (Not a load, which may be stale: trywait must not fail when there is a token.)
  return model::try_take(checked(s, where), one_token(), where) ? 0 : EAGAIN;
}

int semaphore_post(sem_t& s, place where) {
  const model::word<std::uint64_t> word(checked(s, where), where);
  if (data_of(s) >= semaphore_object::most) return EOVERFLOW;
  word.add(1, std::memory_order_release);
  return 0;
}

int semaphore_value(sem_t& s, place where) {
  return static_cast<int>(
      model::word<std::uint64_t>(checked(s, where), where).load(std::memory_order_relaxed));
}

}  // namespace syncopate::instrument::objects
