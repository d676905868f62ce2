// condition.cpp -- pthread_cond_*: condition_variable.h inside glibc's 48-byte pthread_cond_t.
//
//   offset   0  our condition variable (24 bytes)      32  record id
//           36  __wrefs: bit 0 process-shared, bit 1 monotonic clock, as glibc's init leaves them
//
// Process-shared condition variables stay with glibc (shared_condition.h where the mutex is ours);
// so does everything in mode::pass. All others are ours under every lock, since glibc's would
// release and take the mutex behind our back.

#include <syncopate/condition/condition_variable.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <pthread.h>

#include "posix/times.h"
#include "preload/config.h"
#include "preload/elision.h"
#include "preload/export.h"
#include "preload/guard.h"
#include "preload/misuse.h"
#include "preload/mutex.h"
#include "preload/mutex_object.h"
#include "preload/real.h"
#include "preload/shared_condition.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

struct condition_object {
  enum : unsigned { process_shared = 1, monotonic = 2 };
  static condition_object& of(pthread_cond_t* c) noexcept {
    return *reinterpret_cast<condition_object*>(c);
  }
  [[nodiscard]] bool belongs_to_glibc() const noexcept { return (flags & process_shared) != 0; }
  [[nodiscard]] clockid_t clock() const noexcept {
    return (flags & monotonic) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  }

  condition_variable ours;
  std::uint32_t reserved[2];
  std::uint32_t slot;
  unsigned flags;
};
static_assert(sizeof(condition_object) <= sizeof(pthread_cond_t));
static_assert(offsetof(condition_object, flags) == offsetof(pthread_cond_t, __data.__wrefs));

bool is_real(condition_object& o) {
  ensure_configured();
  if (current_mode() == mode::pass) return true;
  if (!o.belongs_to_glibc()) return false;
  // What glibc's code writes must not be undone.
  if (config.elides) stop_eliding();
  return true;
}

// Whether glibc's wait may release and take this mutex itself.
bool fits_real(pthread_mutex_t* m) {
  return current_mode() == mode::pass || mutex_object::of(m).belongs_to_glibc();
}

// What a canceled or ended wait has to put in order; also pthread's cleanup argument.
struct wait_in_progress {
  condition_object& condition;
  pthread_mutex_t* mutex;
  condition_variable::waiter element;
  watched_wait watch;  // for signals that are lost (misuse.h)
  record::wait recorded{};
};

// A robust mutex may have become inconsistent meanwhile, and POSIX lets the wait say so.
int relock(wait_in_progress& w) {
  return lock_mutex(w.mutex, nullptr, record::wait_kind::mutex_relock);
}

// Runs when the thread is canceled in its sleep. POSIX: it must not consume a signal that another
// waiter could use, and its cleanup handlers run with the mutex held.
void canceled(void* argument) {
  auto& w = *static_cast<wait_in_progress*>(argument);
  if (!w.condition.ours.withdraw(w.element)) w.condition.ours.notify_one();
  if (record::enabled) record::wait_end_now(w.recorded);
  relock(w);
}

// Each futex call is a cancellation point: the thread may be canceled asynchronously just there.
int sleep(wait_in_progress& w, const machine::deadline* until) {
  while (!w.element.is_signaled()) {
    const machine::deadline* const limit = guards.misuse ? w.watch.limit(until) : until;
    int type;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    const auto woken = w.element.sleep(limit);
    pthread_setcanceltype(type, nullptr);
    if (woken == machine::park_result::timed_out && !(guards.misuse && w.watch.passed_limit()))
      return w.condition.ours.withdraw(w.element) ? ETIMEDOUT : 0;
  }
  return 0;
}

void sleep_cancelable(wait_in_progress& w, const machine::deadline* until, int* result) {
  pthread_cleanup_push(canceled, &w);
  *result = sleep(w, until);
  pthread_cleanup_pop(0);
}

// In an elided section, once that has committed: a system call would abort it.
void wake_later(const void* address) noexcept {
  elide::on_commit([address] { machine::wake(address, 1); });
}

int wait(pthread_cond_t* c, pthread_mutex_t* m, const machine::deadline* until,
         const void* caller) {
  condition_object& o = condition_object::of(c);
  wait_in_progress w{o, m, {}, {}};
  if (record::enabled)
    w.recorded = record::wait_begin(record::wait_kind::condition,
                                    record::identify(record::object_kind::condition, 0, c, &o.slot),
                                    0, {caller, until != nullptr});
  o.ours.enlist(w.element);
  if (guards.misuse) w.watch.begin(c, m);
  if (const int error = unlock_mutex(m); error != 0) {
    // Not ours to wait with (an errorcheck mutex that is not held): as if never called.
    if (!o.ours.withdraw(w.element)) o.ours.notify_one();
    if (record::enabled) record::wait_end_now(w.recorded);
    return error;
  }
  // The first half of an elided section has committed; unless another one encloses it, whose lock
  // is kept while waiting.
  if (config.elides) stop_eliding();
  int result;
  sleep_cancelable(w, until, &result);
  if (guards.misuse) w.watch.end();
  if (record::enabled) record::wait_end_now(w.recorded);
  const int error = relock(w);
  return error != 0 ? error : result;
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  if (is_real(condition_object::of(c)))
    return fits_real(m) ? real::pthread_cond_wait(c, m) : wait_at_gate(c, m, -1, nullptr);
  return wait(c, m, nullptr, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m,
                                            const timespec* at) {
  condition_object& o = condition_object::of(c);
  if (is_real(o))
    return fits_real(m) ? real::pthread_cond_timedwait(c, m, at) : wait_at_gate(c, m, -1, at);
  if (!posix::is_valid(*at)) return EINVAL;
  const machine::deadline until = posix::to_deadline(o.clock(), *at);
  return wait(c, m, &until, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                                            const timespec* at) {
  if (is_real(condition_object::of(c)))
    return fits_real(m) ? real::pthread_cond_clockwait(c, m, clock, at)
                        : wait_at_gate(c, m, clock, at);
  if (!posix::is_valid(*at) || !posix::is_supported(clock)) return EINVAL;
  const machine::deadline until = posix::to_deadline(clock, *at);
  return wait(c, m, &until, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_cond_signal(pthread_cond_t* c) {
  condition_object& o = condition_object::of(c);
  if (is_real(o))
    return current_mode() == mode::pass ? real::pthread_cond_signal(c) : signal_at_gate(c);
  if (guards.misuse && o.ours.empty()) signaled_nobody(c);
  o.ours.notify_one_by(wake_later);
  return 0;
}

SYNCOPATE_EXPORT int pthread_cond_broadcast(pthread_cond_t* c) {
  condition_object& o = condition_object::of(c);
  if (is_real(o))
    return current_mode() == mode::pass ? real::pthread_cond_broadcast(c) : broadcast_at_gate(c);
  if (guards.misuse && o.ours.empty()) signaled_nobody(c);
  o.ours.notify_all_by(wake_later);
  return 0;
}

SYNCOPATE_EXPORT int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t* attributes) {
  condition_object& o = condition_object::of(c);
  ensure_configured();
  if (attributes == nullptr && current_mode() != mode::pass) {
    std::memset(c, 0, sizeof *c);
  } else if (const int result = real::pthread_cond_init(c, attributes); result != 0) {
    return result;
  }
  if (record::enabled && !o.belongs_to_glibc())
    record::object_created(record::object_kind::condition, 0, c, &o.slot,
                           __builtin_return_address(0));
  return 0;
}

SYNCOPATE_EXPORT int pthread_cond_destroy(pthread_cond_t* c) {
  condition_object& o = condition_object::of(c);
  if (is_real(o)) return real::pthread_cond_destroy(c);
  if (config.elides) stop_eliding();
  if (guards.misuse) about_to_destroy("condition variable", c, !o.ours.empty());
  o.ours.drain();
  if (record::enabled) record::object_destroyed(record::object_kind::condition, c, &o.slot, 0);
  return 0;
}

SYNCOPATE_ALSO_OLDER(pthread_cond_clockwait, "GLIBC_2.30", "GLIBC_2.34")
