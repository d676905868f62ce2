// libc_limits.cpp -- calls that change the process's limits, priority, name, stack of signals and
// the attributes of new threads: as ever, but put back before the program runs again.
#include <cerrno>
#include <cstdarg>
#include <string_view>

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <csignal>

#include "model/front/libc/call_memory.h"
#include "model/front/libc/libc_range.h"
#include "model/front/program/library_state.h"
#include "model/front/program/process_limits.h"
#include "model/front/scope.h"
#include "model/front/threads/signal_stacks.h"

namespace syncopate::instrument {
namespace {

template <class Keep>
void before(engine::place where, Keep keep) {
  process_limits* const limits = limits_before(where);
  if (limits == nullptr) return;
  const engine_scope inside;
  const int error = errno;
  keep(*limits);
  errno = error;
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

static constexpr std::size_t name_bytes = 16;  // of a thread's, in Linux

#define KEEPING(what) before(SYNCOPATE_CALLER, [&](process_limits& limits) { limits.what; })

SYNCOPATE_EXPORT int setrlimit(__rlimit_resource_t resource, const rlimit* to) noexcept {
  KEEPING(keep_limit(static_cast<int>(resource)));
  return SYNCOPATE_REAL(setrlimit)(resource, to);
}
SYNCOPATE_EXPORT int setrlimit64(__rlimit_resource_t resource, const rlimit64* to) noexcept {
  KEEPING(keep_limit(static_cast<int>(resource)));
  return SYNCOPATE_REAL(setrlimit64)(resource, to);
}
SYNCOPATE_EXPORT int prlimit(pid_t of, __rlimit_resource resource, const rlimit* to,
                             rlimit* was) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, was);
  if (to != nullptr) KEEPING(keep_limit(static_cast<int>(resource)));
  return SYNCOPATE_REAL(prlimit)(of, resource, to, was);
}
SYNCOPATE_EXPORT int prlimit64(pid_t of, __rlimit_resource resource, const rlimit64* to,
                               rlimit64* was) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, was);
  if (to != nullptr) KEEPING(keep_limit(static_cast<int>(resource)));
  return SYNCOPATE_REAL(prlimit64)(of, resource, to, was);
}
SYNCOPATE_EXPORT int setpriority(__priority_which_t which, id_t who, int to) noexcept {
  KEEPING(keep_priority());
  return SYNCOPATE_REAL(setpriority)(which, who, to);
}
SYNCOPATE_EXPORT int nice(int by) noexcept {
  KEEPING(keep_priority());
  return SYNCOPATE_REAL(nice)(by);
}
SYNCOPATE_EXPORT int prctl(int what, ...) noexcept {
  unsigned long a[4];
  std::va_list arguments;
  va_start(arguments, what);
  for (unsigned long& each : a) each = va_arg(arguments, unsigned long);
  va_end(arguments);
  if (what == PR_SET_NAME) KEEPING(keep_name());
  if (in_program() && what == PR_GET_NAME)
    return ::pthread_getname_np(::pthread_self(), reinterpret_cast<char*>(a[0]), name_bytes);
  if (in_program() && what == PR_SET_NAME) {
    const std::string_view wanted(reinterpret_cast<const char*>(a[0]));
    char name[name_bytes] = {};
    wanted.copy(name, name_bytes - 1);
    ::pthread_setname_np(::pthread_self(), name);
  }
  return SYNCOPATE_REAL(prctl)(what, a[0], a[1], a[2], a[3]);
}
SYNCOPATE_EXPORT int sigaltstack(const stack_t* to, stack_t* was) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, was);
  if (in_program() && syncopate::engine::has_signals()) {
    const engine_scope inside;
    return change_signal_stack(to, was);
  }
  if (to != nullptr) KEEPING(keep_signal_stack());
  return SYNCOPATE_REAL(sigaltstack)(to, was);
}
SYNCOPATE_EXPORT int pthread_setattr_default_np(const pthread_attr_t* to) {
  KEEPING(keep_attributes());
  return SYNCOPATE_REAL(pthread_setattr_default_np)(to);
}
