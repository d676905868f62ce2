// misuse.h -- reports wrong uses of mutexes and condition variables, and changes nothing else.
//
//   unlock by a thread that does not hold the mutex, or of one that nobody holds
//   destroy of what is held or waited for
//   locks taken in a cycle of orders (lock_order.h), whether or not a deadlock came of it
//   a wait for a signal that came when nobody waited yet, but the waiter was on its way
//   holders that were preempted: how often, at the end
//
// One line for each place in the program (guard_log.h). Nothing here allocates, waits for a lock of
// the program, or throws. Off unless SYNCOPATE_GUARD has `misuse` (guard.h); what cannot be told is
// in docs/tune.md.
//
// Memory order (each tag stands at its site below)
//   [K]  relaxed RMW: of all who report one place, one is the first.
//   [G]  relaxed: a thread that sees an old generation tells an order once more, or not again of a
//        lock that has just been destroyed.
//   [X]  relaxed: as thread_watch.h.
//   [N]  relaxed: whether there is a graph; who is not told of one has noted no order, so that
//        there is nothing to forget.
#pragma once

#include <syncopate/machine.h>

#include <cstdint>

#include <pthread.h>

#include "preload/choice/mutex_object.h"
#include "preload/log/guard_log.h"

namespace syncopate::shim {

struct thread_watch;

// Mutexes. `caller`: where the program's call returns to.
void about_to_lock(const void* mutex) noexcept;  // and may have to wait
void has_locked(const void* mutex, const void* caller) noexcept;
void about_to_unlock(mutex_object& mutex) noexcept;
void about_to_destroy_mutex(mutex_object& mutex, bool contended) noexcept;
void has_made(const void* mutex) noexcept;  // at this address there was perhaps another one
void about_to_destroy(const char* what, const void* object, bool in_use) noexcept;

// Condition variables.
void signaled_nobody(const void* condition) noexcept;

// One wait, from before the mutex is released until the thread goes on. Lives on its stack.
class watched_wait {
 public:
  watched_wait() noexcept {}  // NOLINT(modernize-use-equals-default): that would clear signal_
  // Requires: the caller is in the condition variable's list, and holds the mutex.
  void begin(const void* condition, const void* mutex) noexcept;
  // Until when to sleep: `until`, or until the wait gets suspicious, if that is earlier.
  [[nodiscard]] const machine::deadline* limit(const machine::deadline* until) noexcept;
  // Whether the time-out was limit()'s own: then it is reported, and the wait goes on.
  [[nodiscard]] bool passed_limit() noexcept;
  // A wait that took long without a time-out that anyone saw.
  void end() noexcept;

 private:
  void report() noexcept;
  const void *condition_ = nullptr, *mutex_ = nullptr;
  bool suspicious_ = false, limited_ = false;
  std::uint64_t began_ = 0;
  int signaler_ = 0;
  call_site signal_;
  machine::deadline limit_;
};

// While it lives the guard says something: what happens to the thread meanwhile is no part of the
// sections that it is in. `is_kept`: whether sections are counted at all.
class aside {
 public:
  explicit aside(bool is_kept) noexcept;
  ~aside();
  aside(const aside&) = delete;
  aside& operator=(const aside&) = delete;

 private:
  thread_watch* me_;
};

// At the start of the program: how long a wait may last.
void start_misuse() noexcept;

// At the end of the program: holders that were preempted.
void finish_misuse() noexcept;

}  // namespace syncopate::shim
