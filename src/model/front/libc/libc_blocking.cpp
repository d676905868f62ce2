// libc_blocking.cpp -- calls that wait for what no thread of the program could bring about while
// they do, since they would stop all of them: signals come from outside, at no time of the
// machine's; of the rest, what would block ends the program with one line.
#include <cerrno>
#include <csignal>
#include <ctime>

#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <unistd.h>

#include "model/front/libc/libc_range.h"
#include "model/front/program/options.h"
#include "model/front/pthread/cancel.h"
#include "model/front/pthread/threads.h"

namespace syncopate::instrument {
namespace {

constexpr long second = 1'000'000'000, look_ns = 1'000'000;

bool would_stop_others(const void* where) { return by_program(where) && has_other_threads(); }

[[noreturn]] void refuse(const char* name) {
  const engine_scope inside;
  fail(
      "%s() would block all threads of the program: this machine has one for all"
      " (docs/reference/model-limits.md)",
      name);
}

machine::deadline after(long ns) {
  const std::uint64_t at = engine::nanoseconds(CLOCK_MONOTONIC) + static_cast<std::uint64_t>(ns);
  return {{static_cast<time_t>(at / second), static_cast<long>(at % second)}, CLOCK_MONOTONIC};
}

// Looks once a millisecond of the machine for at most one of this computer.
int wait_for_signal(const sigset_t* set, siginfo_t* info, const timespec* limit,
                    engine::place where) {
  long left = limit != nullptr ? limit->tv_sec * second + limit->tv_nsec : -1;
  timespec real{0, 0};
  for (;;) {
    const int signal = SYNCOPATE_REAL(sigtimedwait)(set, info, &real);
    if (signal > 0 || errno != EAGAIN || left == 0) return signal;
    const long nap = left > 0 && left < look_ns ? left : look_ns;
    test_cancel();
    {
      const engine_scope inside;
      engine::sleep_until(after(nap), where);
    }
    test_cancel();
    if (left > 0) left -= nap;
    real.tv_nsec = look_ns;
  }
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* limit) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!would_stop_others(where)) return SYNCOPATE_REAL(sigtimedwait)(set, info, limit);
  return wait_for_signal(set, info, limit, where);
}
SYNCOPATE_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!would_stop_others(where)) return SYNCOPATE_REAL(sigwaitinfo)(set, info);
  return wait_for_signal(set, info, nullptr, where);
}
SYNCOPATE_EXPORT int sigwait(const sigset_t* set, int* signal) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!would_stop_others(where)) return SYNCOPATE_REAL(sigwait)(set, signal);
  const int found = wait_for_signal(set, nullptr, nullptr, where);
  if (found < 0) return errno;
  *signal = found;
  return 0;
}

SYNCOPATE_EXPORT int pause() {
  if (would_stop_others(SYNCOPATE_CALLER)) refuse("pause");
  return SYNCOPATE_REAL(pause)();
}
SYNCOPATE_EXPORT int sigsuspend(const sigset_t* mask) {
  if (would_stop_others(SYNCOPATE_CALLER)) refuse("sigsuspend");
  return SYNCOPATE_REAL(sigsuspend)(mask);
}

// Tried without blocking; `empty`: the error that says that the call would have.
#define TRY_OR_REFUSE(name, empty, attempt, ...)                                      \
  if (!would_stop_others(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(name)(__VA_ARGS__); \
  const auto result = attempt;                                                        \
  if (result < 0 && errno == (empty)) refuse(#name);                                  \
  return result

SYNCOPATE_EXPORT ssize_t msgrcv(int queue, void* to, std::size_t bytes, long type, int flags) {
  if ((flags & IPC_NOWAIT) != 0) return SYNCOPATE_REAL(msgrcv)(queue, to, bytes, type, flags);
  TRY_OR_REFUSE(msgrcv, ENOMSG, SYNCOPATE_REAL(msgrcv)(queue, to, bytes, type, flags | IPC_NOWAIT),
                queue, to, bytes, type, flags);
}
SYNCOPATE_EXPORT int flock(int file, int how) noexcept {
  if ((how & LOCK_NB) != 0) return SYNCOPATE_REAL(flock)(file, how);
  TRY_OR_REFUSE(flock, EWOULDBLOCK, SYNCOPATE_REAL(flock)(file, how | LOCK_NB), file, how);
}
