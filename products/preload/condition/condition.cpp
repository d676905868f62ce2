// condition.cpp -- pthread_cond_*: what posix/condition.h says, by condition_object.h, under the
// eyes of condition_watch.h.
//
// Process-shared condition variables stay with glibc (shared_condition.h where the mutex is ours);
// so does everything in mode::pass. All others are ours under every lock, since glibc's would
// release and take the mutex behind our back.
//
// Memory order (each tag stands at its site below)
//   [F]  relaxed: as in condition_object.h.

#include "preload/condition/condition.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <pthread.h>

#include "posix/condition.h"
#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/choice/mutex_object.h"
#include "preload/condition/condition_object.h"
#include "preload/condition/condition_watch.h"
#include "preload/condition/shared_condition.h"
#include "preload/config.h"
#include "preload/elision/speculation.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

bool is_real(pthread_cond_t* c) {
  ensure_configured();
  if (current_mode() == mode::pass) return true;
  if (!condition_object::of(c).belongs_to_glibc()) return false;
  // What glibc's code writes must not be undone.
  if (config.elides) stop_eliding();
  return true;
}

// Whether glibc's wait may release and take this mutex itself.
bool fits_real(pthread_mutex_t* m) {
  return current_mode() == mode::pass || mutex_object::of(m).belongs_to_glibc();
}

int wait_real(const real_wait& w) {
  return fits_real(w.mutex) ? wait_for_real(w) : wait_at_gate(w);
}

// `caller`: where the program's call returns to.
int wait(pthread_cond_t* c, pthread_mutex_t* m, posix::limit until, const void* caller) {
  program_wait call(c, m, caller);
  wait_watch watch;
  return posix::wait_condition(call, watch, until);
}

int wait_until(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const timespec* at,
               const void* caller) {
  const posix::early_limit until(clock, *at);
  return until ? wait(c, m, until.get(), caller) : EINVAL;
}

}  // namespace

int wait_for_condition(pthread_cond_t* c, pthread_mutex_t* m, const timespec* at,
                       const void* caller) {
  stop_running_ahead();
  if (is_real(c)) return wait_real({c, m, nullptr, at, caller});
  if (at == nullptr) return wait(c, m, nullptr, caller);
  return wait_until(c, m, condition_object::of(c).clock(), at, caller);
}

unsigned find_condition_flags() noexcept {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  std::uint32_t words[sizeof(pthread_cond_t) / sizeof(std::uint32_t)]{};
  real::pthread_cond_init(reinterpret_cast<pthread_cond_t*>(words), &attributes);
  constexpr unsigned newer = offsetof(condition_object, newer_flags) / sizeof *words;
  constexpr unsigned older = offsetof(condition_object, older_flags) / sizeof *words;
  const unsigned word = words[newer] == posix::shared_condition ? newer : older;
  condition_flags_word.store(word, std::memory_order_relaxed);  // [F]
  return word;
}

}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  return wait_for_condition(c, m, nullptr, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m,
                                            const timespec* at) {
  return wait_for_condition(c, m, at, __builtin_return_address(0));
}

SYNCOPATE_EXPORT int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                                            const timespec* at) {
  stop_running_ahead();
  const void* const caller = __builtin_return_address(0);
  if (is_real(c)) return wait_real({c, m, &clock, at, caller});
  return wait_until(c, m, clock, at, caller);
}

SYNCOPATE_EXPORT int pthread_cond_signal(pthread_cond_t* c) {
  if (is_ahead()) return 0;
  if (is_real(c))
    return current_mode() == mode::pass ? real::pthread_cond_signal(c) : signal_at_gate(c);
  return posix::signal_condition(program_condition(c, nullptr), condition_watch());
}

SYNCOPATE_EXPORT int pthread_cond_broadcast(pthread_cond_t* c) {
  if (is_ahead()) return 0;
  if (is_real(c))
    return current_mode() == mode::pass ? real::pthread_cond_broadcast(c) : broadcast_at_gate(c);
  return posix::broadcast_condition(program_condition(c, nullptr), condition_watch());
}

SYNCOPATE_EXPORT int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t* attributes) {
  ensure_configured();
  if (attributes == nullptr && current_mode() != mode::pass) {
    std::memset(c, 0, sizeof *c);
  } else if (const int result = real::pthread_cond_init(c, attributes); result != 0) {
    return result;
  }
  condition_object& o = condition_object::of(c);
  if (record::enabled)
    record::object_created(record::object_kind::condition, 0, c,
                           o.belongs_to_glibc() ? nullptr : &o.slot, __builtin_return_address(0));
  return 0;
}

SYNCOPATE_EXPORT int pthread_cond_destroy(pthread_cond_t* c) {
  stop_running_ahead();
  if (is_real(c)) {
    if (record::enabled) record::object_destroyed(record::object_kind::condition, c, nullptr, 0);
    return real::pthread_cond_destroy(c);
  }
  return posix::destroy_condition(program_condition(c, nullptr), condition_watch());
}

SYNCOPATE_ALSO_OLDER(pthread_cond_clockwait, "GLIBC_2.30")
