// semaphore.cpp -- semaphores for the explored machine: what posix/semaphore.h says, with the value
// alone, one event a call.
//
// Memory order (each tag stands at its site below)
//   [P]  release -- synchronizes with the acquire of who takes the token (model::take).
//   [G]  relaxed: a value that may be another by then.

#include "posix/semaphore.h"

#include "model/front/pthread/cancel.h"
#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

// As the C library's, with a word of ours behind it.
struct object {
  std::uint64_t data;
  std::uint32_t destroyed;
};
static_assert(sizeof(object) <= sizeof(sem_t));

constexpr std::uint32_t destroyed_mark = 0x64657374;  // not what memory usually holds

object& of(sem_t& s) { return reinterpret_cast<object&>(s); }

struct one_token {
  static bool may_enter(std::uint64_t value) { return value != 0; }
  static std::uint64_t entered(std::uint64_t value) { return value - 1; }
};

class counted_semaphore {
 public:
  static constexpr bool tries_first = false;  // each step is a branching point
  counted_semaphore(sem_t& s, place where) : semaphore_(s), where_(where) {}

  static void test_cancel() { instrument::test_cancel(); }
  bool is_destroyed() const {
    if (of(semaphore_).destroyed == destroyed_mark) return true;
    model::note_use(&of(semaphore_).destroyed, where_);
    return false;
  }
  bool try_take() {
    // (Not a load, which may be stale: trywait must not fail when there is a token.)
    return model::try_take(of(semaphore_).data, one_token(), where_);
  }
  int take(limit until) {
    return model::take(of(semaphore_).data, one_token(), until, where_) ? 0 : ETIMEDOUT;
  }
  bool add() {
    if (of(semaphore_).data >= posix::most_tokens) return false;
    word().add(1, std::memory_order_release);  // [P]
    return true;
  }
  void mark_destroyed() {
    touch(&semaphore_, sizeof semaphore_, engine::kind::write, where_);
    of(semaphore_).destroyed = destroyed_mark;
  }

  [[nodiscard]] std::uint64_t value() const {
    return word().load(std::memory_order_relaxed);  // [G]
  }
  [[noreturn]] void misused(const char* what) { model::misuse(what, &semaphore_, where_); }

 private:
  [[nodiscard]] model::word<std::uint64_t> word() const { return {of(semaphore_).data, where_}; }
  sem_t& semaphore_;
  place where_;
};

struct strict : posix::nobody_watches_semaphore {
  [[noreturn]] static void uses_destroyed(counted_semaphore& s) {
    s.misused("use of a destroyed semaphore");
  }
};

}  // namespace

void semaphore_init(sem_t& s, unsigned value, place /*where*/) {
  of(s).destroyed = 0;
  of(s).data = value;
}

void semaphore_destroy(sem_t& s, place where) {
  posix::destroy_semaphore(counted_semaphore(s, where), strict());
}

int semaphore_wait(sem_t& s, limit until, place where) {
  return posix::wait_semaphore(counted_semaphore(s, where), strict(), until);
}

int semaphore_trywait(sem_t& s, place where) {
  return posix::try_wait_semaphore(counted_semaphore(s, where), strict());
}

int semaphore_post(sem_t& s, place where) {
  return posix::post_semaphore(counted_semaphore(s, where), strict());
}

int semaphore_value(sem_t& s, place where) {
  counted_semaphore it(s, where);
  if (it.is_destroyed()) strict::uses_destroyed(it);
  return static_cast<int>(it.value());
}

}  // namespace syncopate::instrument::objects
