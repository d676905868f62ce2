// semaphore.cpp -- semaphores of a program on a modeled machine: what posix/semaphore.h says, by
// glibc's algorithm for 64-bit machines. Instrumented.
//
// Memory order (each tag stands at its site below)
//   [P]  release RMW that posts.
//   [T]  acquire RMW that takes a token -- synchronizes with [P]; RMWs in between continue the
//        release sequence.
//   [R]  relaxed: decides only what is tried next, or counts who waits.

#include "posix/semaphore.h"

#include <syncopate/machine.h>

#include "model/front/libc/signals.h"
#include "model/front/pthread/cancel.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"
#include "model/front/pthread/semaphore_object.h"

namespace syncopate::instrument::objects {
namespace {

// Takes a token, and `also` out of the word with it, if there is one.
bool take(semaphore_object& s, std::uint64_t also) {
  std::uint64_t data = s.data.load(std::memory_order_relaxed);  // [R]
  while (semaphore_object::value_of(data) != 0)
    if (s.data.compare_exchange_weak(data, data - 1 - also, std::memory_order_acquire,  // [T]
                                     std::memory_order_relaxed))                        // [R]
      return true;
  return false;
}

// A waiter is counted in the word while one of these exists, also when cancellation ends it.
class counted_waiter {
 public:
  explicit counted_waiter(semaphore_object& s) : semaphore_(s) {
    s.data.fetch_add(semaphore_object::one_waiter, std::memory_order_relaxed);  // [R]
  }
  ~counted_waiter() {
    if (counted_)
      semaphore_.data.fetch_sub(semaphore_object::one_waiter, std::memory_order_relaxed);  // [R]
  }
  counted_waiter(const counted_waiter&) = delete;
  counted_waiter& operator=(const counted_waiter&) = delete;

  bool take_and_leave() {
    if (!take(semaphore_, semaphore_object::one_waiter)) return false;
    counted_ = false;
    return true;
  }

 private:
  semaphore_object& semaphore_;
  bool counted_ = true;
};

class counted_semaphore {
 public:
  static constexpr bool tries_first = true;
  explicit counted_semaphore(sem_t& s) : object_(semaphore_object::of(s)) {}

  static void test_cancel() { instrument::test_cancel(); }
  static bool is_destroyed() { return false; }
  bool try_take() { return objects::take(object_, 0); }
  int take(limit until) {
    counted_waiter me(object_);
    const interruptions before = interruptions_so_far();
    for (;;) {
      if (me.take_and_leave()) return 0;
      cancelable_sleep_begin(object_.value_word());
      const machine::park_result woken = machine::park(object_.value_word(), 0, until);
      cancelable_sleep_end();
      if (woken == machine::park_result::interrupted && ended_without_restart(before))
        return me.take_and_leave() ? 0 : EINTR;
      if (woken == machine::park_result::timed_out) return me.take_and_leave() ? 0 : ETIMEDOUT;
    }
  }
  bool add() {
    const void* const address = object_.value_word();  // it may be gone after the exchange
    std::uint64_t data = object_.data.load(std::memory_order_relaxed);  // [R]
    do {
      if (semaphore_object::value_of(data) == posix::most_tokens) return false;
    } while (!object_.data.compare_exchange_weak(data, data + 1, std::memory_order_release,  // [P]
                                                 std::memory_order_relaxed));                // [R]
    if (data >= semaphore_object::one_waiter) machine::wake(address, 1);
    return true;
  }
  static void mark_destroyed() {}

 private:
  semaphore_object& object_;
};

using nobody = posix::nobody_watches_semaphore;

}  // namespace

void semaphore_init(sem_t& s, unsigned value, place /*where*/) {
  semaphore_object::of(s).data.store(value, std::memory_order_relaxed);  // [R]
}

void semaphore_destroy(sem_t& s, place where) {
  touch(&s, sizeof s, engine::kind::write, where);
  posix::destroy_semaphore(counted_semaphore(s), nobody());
}

int semaphore_wait(sem_t& s, limit until, place /*where*/) {
  return posix::wait_semaphore(counted_semaphore(s), nobody(), until);
}

int semaphore_trywait(sem_t& s, place /*where*/) {
  return posix::try_wait_semaphore(counted_semaphore(s), nobody());
}

int semaphore_post(sem_t& s, place /*where*/) {
  return posix::post_semaphore(counted_semaphore(s), nobody());
}

int semaphore_value(sem_t& s, place /*where*/) {
  return static_cast<int>(semaphore_object::value_of(
      semaphore_object::of(s).data.load(std::memory_order_relaxed)));  // [R]
}

}  // namespace syncopate::instrument::objects
