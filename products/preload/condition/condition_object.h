// condition_object.h -- a condition variable of this library as posix/condition.h wants it:
// condition_variable.h inside glibc's 48-byte pthread_cond_t.
//
//   offset   0  our condition variable (24 bytes)      32  record id
//           36  __wrefs: bit 0 process-shared, bit 1 monotonic clock, as glibc's init leaves them
#pragma once

#include <syncopate/condition/condition_variable.h>

#include <cstddef>

#include <pthread.h>

#include "posix/condition.h"
#include "preload/config.h"
#include "preload/elision/elision.h"
#include "preload/mutex/mutex.h"
#include "record/recorder.h"

namespace syncopate::shim {

struct condition_object {
  static condition_object& of(pthread_cond_t* c) noexcept {
    return *reinterpret_cast<condition_object*>(c);
  }
  [[nodiscard]] bool belongs_to_glibc() const noexcept {
    return (flags & posix::shared_condition) != 0;
  }

  condition_variable ours;
  std::uint32_t reserved[2];
  std::uint32_t slot;
  unsigned flags;
};
static_assert(sizeof(condition_object) <= sizeof(pthread_cond_t));
static_assert(offsetof(condition_object, flags) == offsetof(pthread_cond_t, __data.__wrefs));

class program_condition {
 public:
  program_condition(pthread_cond_t* c, const void* caller)
      : object_(condition_object::of(c)), caller_(caller) {}

  condition_object& object() { return object_; }
  [[nodiscard]] const void* caller() const { return caller_; }
  bool is_empty() { return object_.ours.empty(); }

  static bool is_destroyed() { return false; }  // destruction leaves no mark, as glibc's
  static void mark_destroyed() {}
  void notify_one() { object_.ours.notify_one_by(wake_later); }
  void notify_all() { object_.ours.notify_all_by(wake_later); }
  void drain() { object_.ours.drain(); }
  static void stop_eliding() {
    if (config.elides) shim::stop_eliding();
  }

 protected:
  condition_object& object_;
  const void* caller_;  // where the program's call returns to

 private:
  // In an elided section, once that has committed: a system call would abort it.
  static void wake_later(const void* address) noexcept {
    elide::on_commit([address] { machine::wake(address, 1); });
  }
};

class program_wait : public program_condition {
 public:
  program_wait(pthread_cond_t* c, pthread_mutex_t* m, const void* caller)
      : program_condition(c, caller), mutex_(m) {}

  [[nodiscard]] pthread_mutex_t* mutex() const { return mutex_; }

  void enlist() { object_.ours.enlist(element_); }
  int unlock_mutex() { return shim::unlock_mutex(mutex_); }
  // A robust mutex may have become inconsistent meanwhile, and POSIX lets the wait say so.
  int lock_mutex() { return shim::lock_mutex(mutex_, nullptr, record::wait_kind::mutex_relock); }
  bool is_over() { return element_.is_signaled(); }
  bool withdraw() { return object_.ours.withdraw(element_); }

  // Each futex call is a cancellation point: the thread may be canceled asynchronously just there.
  machine::park_result sleep(posix::limit until) {
    int type;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    const auto woken = element_.sleep(until);
    pthread_setcanceltype(type, nullptr);
    return woken;
  }
  // Without locals: a cancellation comes back into it by longjmp.
  template <class Body, class Left>
  [[gnu::noinline]] static void cancelable(const Body& body, const Left& left) {
    pthread_cleanup_push([](void* l) { (*static_cast<const Left*>(l))(); },
                         const_cast<Left*>(&left));
    body();
    pthread_cleanup_pop(0);
  }

 private:
  pthread_mutex_t* mutex_;
  condition_variable::waiter element_;
};

}  // namespace syncopate::shim
