// thread_queries.cpp -- what else a program asks about threads or sets for them. Every function
// of the C library that takes a pthread_t is here: it would take our handles for its own.
//
// Memory order (each tag stands at its site below)
//   [G]  relaxed: whether it was detached, which the program orders with its question.

#include <cerrno>
#include <cstring>
#include <ctime>

#include <signal.h>

#include "model/front/libc/call_memory.h"
#include "model/front/libc/signals.h"
#include "model/front/program/identity.h"
#include "model/front/pthread/real.h"
#include "model/front/pthread/threads.h"

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int pthread_setname_np(pthread_t thread, const char* name) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_setname_np, thread, name);
  thread_record* const r = find_record(thread);
  if (r == nullptr) return ESRCH;
  if (std::strlen(name) >= thread_record::name_bytes) return ERANGE;
  std::strcpy(r->name, name);
  return 0;
}

SYNCOPATE_EXPORT int pthread_getname_np(pthread_t thread, char* name, std::size_t bytes) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_getname_np, thread, name, bytes);
  thread_record* const r = find_record(thread);
  if (r == nullptr) return ESRCH;
  const char* const known = r->name[0] != '\0' ? r->name : program_invocation_short_name;
  const std::size_t length = ::strnlen(known, thread_record::name_bytes - 1);
  if (bytes <= length) return ERANGE;
  std::memcpy(name, known, length);
  name[length] = '\0';
  return 0;
}

SYNCOPATE_EXPORT int pthread_setaffinity_np(pthread_t thread, std::size_t bytes,
                                            const cpu_set_t* mask) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_setaffinity_np, thread, bytes, mask);
  thread_record* const r = find_record(thread);
  if (r == nullptr) return ESRCH;
  const unsigned processors = on_engine([] { return engine::processors(); });
  bool any = false;
  for (unsigned p = 0; p < processors && !any; ++p) any = CPU_ISSET_S(p, bytes, mask);
  if (!any) return EINVAL;
  std::memset(r->affinity, 0, sizeof r->affinity);
  std::memcpy(r->affinity, mask, bytes < sizeof r->affinity ? bytes : sizeof r->affinity);
  r->has_affinity = true;
  on_engine([&] { engine::set_affinity(r->index, r->affinity, thread_record::affinity_bytes); });
  return 0;
}

// Static constructors are told of the machine, too: OpenMP's runtime counts its processors in one.
SYNCOPATE_EXPORT int pthread_getaffinity_np(pthread_t thread, std::size_t bytes, cpu_set_t* mask) {
  if (!asks_machine()) return SYNCOPATE_REAL(pthread_getaffinity_np)(thread, bytes, mask);
  const thread_record* const r = in_program() ? find_record(thread) : nullptr;
  if (r == nullptr && in_program()) return ESRCH;
  std::memset(mask, 0, bytes);
  const unsigned processors = on_engine([] { return engine::processors(); });
  for (unsigned p = 0; p < processors && p < 8 * bytes; ++p)
    if (r == nullptr || !r->has_affinity ||
        CPU_ISSET_S(p, thread_record::affinity_bytes,
                    reinterpret_cast<const cpu_set_t*>(r->affinity)))
      CPU_SET_S(p, bytes, mask);
  return 0;
}

SYNCOPATE_EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t* attributes) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_getattr_np, thread, attributes);
  thread_record* const r = find_record(thread);
  if (r == nullptr) return ESRCH;
  if (const int error = ::pthread_attr_init(attributes); error != 0) return error;
  const fiber* const runs_on = r == &self_record() ? running_fiber() : r->runs_on;
  if (runs_on != nullptr) {
    const stack_bounds stack = stack_of(runs_on);
    ::pthread_attr_setstack(attributes, reinterpret_cast<void*>(stack.low), stack.high - stack.low);
  }
  const bool detached =
      (r->status.load(std::memory_order_relaxed) & thread_record::owner_mask) ==  // [G]
      thread_record::detached;
  return ::pthread_attr_setdetachstate(
      attributes, detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
}

// A machine has no priorities: as on a system whose user may not set any.
SYNCOPATE_EXPORT int pthread_setschedparam(pthread_t thread, int policy, const sched_param* p) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_setschedparam, thread, policy, p);
  if (find_record(thread) == nullptr) return ESRCH;
  if (policy == SCHED_OTHER) return p->sched_priority == 0 ? 0 : EINVAL;
  return EPERM;
}

SYNCOPATE_EXPORT int pthread_getschedparam(pthread_t thread, int* policy, sched_param* p) {
  const results_of_call told(SYNCOPATE_CALLER, policy, p);
  SYNCOPATE_UNLESS_PROGRAM(pthread_getschedparam, thread, policy, p);
  if (find_record(thread) == nullptr) return ESRCH;
  *policy = SCHED_OTHER;
  p->sched_priority = 0;
  return 0;
}

SYNCOPATE_EXPORT int pthread_setschedprio(pthread_t thread, int priority) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_setschedprio, thread, priority);
  if (find_record(thread) == nullptr) return ESRCH;
  return priority == 0 ? 0 : EINVAL;
}

// All threads share one OS thread: what the machine does not keep (signals.h) is sent to oneself
// only.
SYNCOPATE_EXPORT int pthread_kill(pthread_t thread, int signal) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_kill, thread, signal);
  thread_record* const r = find_record(thread);
  if (r == nullptr) return ESRCH;
  if (signal < 0 || signal > SIGRTMAX) return EINVAL;
  if (signal == 0) return 0;
  if (send_to_thread(r->index, signal, nullptr) == 0) return 0;
  if (r != &self_record()) {
    note_unmodeled(signal);
    return ENOSYS;
  }
  return SYNCOPATE_REAL(raise)(signal) == 0 ? 0 : errno;
}

SYNCOPATE_EXPORT int pthread_sigqueue(pthread_t thread, int signal, const sigval value) {
  SYNCOPATE_UNLESS_PROGRAM(pthread_sigqueue, thread, signal, value);
  thread_record* const r = find_record(thread);
  if (r == nullptr) return ESRCH;
  if (signal < 1 || signal > SIGRTMAX) return EINVAL;
  note_unmodeled(signal);
  return send_to_thread(r->index, signal, &value);
}

SYNCOPATE_EXPORT int pthread_getcpuclockid(pthread_t thread, clockid_t* clock) {
  const results_of_call told(SYNCOPATE_CALLER, clock);
  SYNCOPATE_UNLESS_PROGRAM(pthread_getcpuclockid, thread, clock);
  thread_record* const r = find_record(thread);
  if (r == nullptr) return ESRCH;
  if (r != &self_record()) return ENOENT;
  *clock = CLOCK_THREAD_CPUTIME_ID;
  return 0;
}
