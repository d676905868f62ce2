// condition_object.h -- a condition variable of this library as posix/condition.h wants it:
// condition_variable.h inside glibc's 48-byte pthread_cond_t.
//
//   offset   0  our condition variable (24 bytes)      32  record id
//           36  __wrefs of glibc before 2.41           28  the same from 2.41 on:
//               bit 0 process-shared, bit 1 monotonic clock, as glibc's init leaves them
//
// Memory order (each tag stands at its site below)
//   [F]  relaxed: a constant of the C library, which is the same whoever looks for it.
#pragma once

#include <syncopate/condition/condition_variable.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <pthread.h>

#include "posix/condition.h"
#include "preload/config.h"
#include "preload/elision/elision.h"
#include "preload/mutex/mutex.h"
#include "record/recorder.h"

namespace syncopate::shim {

// Which word of a condition variable this C library's init puts the flags into: not what our own
// headers say, since the library may be a newer one. Found by an init, once.
unsigned find_condition_flags() noexcept;
inline constinit std::atomic<unsigned> condition_flags_word{0};

struct condition_object {
  static condition_object& of(pthread_cond_t* c) noexcept {
    return *reinterpret_cast<condition_object*>(c);
  }
  [[nodiscard]] bool belongs_to_glibc() const noexcept {
    return (flags() & posix::shared_condition) != 0;
  }
  [[nodiscard]] clockid_t clock() const noexcept {
    return (flags() & posix::monotonic_condition) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  }
  [[nodiscard]] unsigned flags() const noexcept {
    unsigned word = condition_flags_word.load(std::memory_order_relaxed);  // [F]
    if (__builtin_expect(word == 0, 0)) word = find_condition_flags();
    return reinterpret_cast<const unsigned*>(this)[word];
  }

  condition_variable ours;
  std::uint32_t reserved;
  std::uint32_t newer_flags;
  std::uint32_t slot;
  std::uint32_t older_flags;
};
static_assert(sizeof(condition_object) <= sizeof(pthread_cond_t));
static_assert(offsetof(condition_object, newer_flags) == 28);
static_assert(offsetof(condition_object, older_flags) == 36);

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
  int lock_mutex() {
    return shim::lock_mutex(mutex_, {}, record::wait_kind::mutex_relock, caller());
  }
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
