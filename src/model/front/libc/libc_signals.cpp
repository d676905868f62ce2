// libc_signals.cpp -- the names of signals: sending, masks, actions, waiting (signals.h). Where the
// machine does not say when signals come, all but the waits are the system's.
#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <ctime>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/libc/blocking.h"
#include "model/front/libc/call_memory.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/signals.h"
#include "model/front/program/identity.h"
#include "model/front/program/library_state.h"
#include "model/front/program/options.h"
#include "model/front/pthread/cancel.h"
#include "model/front/pthread/threads.h"

namespace syncopate::instrument {
namespace {

constexpr long second = 1'000'000'000, look_ns = 1'000'000;

bool is_machines(const void* where) { return engine::has_signals() && by_program(where); }

std::uint64_t now() {
  const engine_scope inside;
  return engine::nanoseconds(CLOCK_MONOTONIC);
}

void sleep_until(std::uint64_t at, engine::place where) {
  const engine_scope inside;
  engine::sleep_until(
      {{static_cast<time_t>(at / second), static_cast<long>(at % second)}, CLOCK_MONOTONIC}, where);
}

// What comes from outside is looked for once a millisecond of the machine, for at most one of this
// computer: for none where the program's own timers send what is waited for.
int wait_for_signal(const sigset_t* set, siginfo_t* info, const timespec* limit,
                    engine::place where) {
  const signal_bits which = bits_of(*set);
  const bool is_timed = limit != nullptr;
  const std::uint64_t end =
      is_timed ? now() + static_cast<std::uint64_t>(limit->tv_sec * second + limit->tv_nsec) : 0;
  const interruptions before = interruptions_so_far();
  for (timespec real{0, 0};; real.tv_nsec = any_timer_sends(which) ? 0 : look_ns) {
    test_cancel();
    const std::uint64_t at = now();
    if (siginfo_t found{}; engine::has_signals() && take_pending(which, found)) {
      if (info != nullptr) *info = found;
      return found.si_signo;
    }
    const int signal = SYNCOPATE_REAL(sigtimedwait)(set, info, &real);
    if (signal > 0 || errno != EAGAIN) return signal;
    if (is_timed && at >= end) {
      errno = EAGAIN;
      return -1;
    }
    if (engine::has_signals()) set_awaited(which);
    sleep_until(is_timed ? std::min(end, at + look_ns) : at + look_ns, where);
    if (engine::has_signals()) set_awaited(0);
    if (ended_by_signal(before)) {
      errno = EINTR;
      return -1;
    }
  }
}

bool waits_natively(const void* where) {
  if (!by_program(where)) return true;
  const engine_scope inside;
  return !has_other_threads() && !any_timer_sends(~signal_bits{0}) &&
         (!engine::has_signals() || pending_signals() == 0);
}

// Where the program runs several times nobody sends it anything: the only thread, when none of
// these signals has come, waits for good.
bool waits_in_vain(signal_bits which, engine::place where) {
  if (!by_program(where) || engine::has_signals() || !engine::runs_again() || has_other_threads())
    return false;
  sigset_t come;
  return SYNCOPATE_REAL(sigpending)(&come) == 0 && (bits_of(come) & which) == 0;
}

[[noreturn]] void wait_for_good(engine::place where) {
  const engine_scope inside;
  const std::uint32_t nothing = 0;
  for (;;) engine::park(address_of(&nothing), 0, nullptr, ~0u, where);
}

// In the system, until a signal comes or for `most`. One that has come since the caller looked
// would not end the wait: they are let in by the wait itself alone.
void wait_in_system(const timespec* most) {
  sigset_t every, before;
  sigfillset(&every);
  SYNCOPATE_REAL(pthread_sigmask)(SIG_SETMASK, &every, &before);
  if (!outside_waits()) SYNCOPATE_REAL(ppoll)(nullptr, 0, most, &before);
  SYNCOPATE_REAL(pthread_sigmask)(SIG_SETMASK, &before, nullptr);
}

// Until a handler has run. Where nobody else can send anything, the system waits.
int wait_for_handler(const char* name, engine::place where) {
  if (!engine::has_signals()) {
    if (has_other_threads()) refuse_to_block(name);
    if (waits_in_vain(0, where)) wait_for_good(where);
    return SYNCOPATE_REAL(pause)();
  }
  const interruptions before = interruptions_so_far();
  for (;;) {
    test_cancel();
    if (ended_by_signal(before)) break;
    const bool natively = waits_natively(where);
    const timespec most{0, look_ns};
    if (natively || !any_timer_sends(~signal_bits{0})) wait_in_system(natively ? nullptr : &most);
    if (ended_by_signal(before)) break;
    if (!natively) sleep_until(now() + look_ns, where);
    else sleep_until(now(), where);  // the note is looked at
  }
  test_cancel();
  errno = EINTR;
  return -1;
}

int change_mask(int how, const sigset_t* set, sigset_t* before) {
  const signal_bits old = signal_mask();
  if (set != nullptr) {
    const signal_bits given = bits_of(*set);
    switch (how) {
      case SIG_BLOCK: set_signal_mask(old | given); break;
      case SIG_UNBLOCK: set_signal_mask(old & ~given); break;
      case SIG_SETMASK: set_signal_mask(given); break;
      default: return EINVAL;
    }
  }
  if (before != nullptr) *before = set_of(old);
  if (set != nullptr) take_signals();
  return 0;
}

int send(int signal, const siginfo_t& info) {
  if (!is_kept(signal)) return ENOSYS;
  send_by_program(info, -1);
  return 0;
}

siginfo_t queued(int signal, sigval value) {
  siginfo_t info = sent_by_user(signal);
  info.si_code = SI_QUEUE;
  info.si_value = value;
  return info;
}

// The mask that sigsetjmp() has saved was the system's: that of the thread, where no other has one
// of its own.
[[noreturn]] void jump(void (*real)(__jmp_buf_tag*, int), __jmp_buf_tag* to, int value) {
  if (engine::has_signals() && in_program() && to->__mask_was_saved != 0) {
    sigset_t saved;
    sigemptyset(&saved);
    __builtin_memcpy(&saved, &to->__saved_mask, sizeof saved);
    set_signal_mask(bits_of(saved));
  }
  real(to, value);
  __builtin_unreachable();
}

// The system's number of a process, given the program's.
pid_t of_system(pid_t process) {
  return process == process_number ? SYNCOPATE_REAL(getpid)() : process;
}

}  // namespace

void note_unmodeled(int signal) {
  if (engine::has_signals()) return;
  struct sigaction how {};
  if (SYNCOPATE_REAL(sigaction)(signal, nullptr, &how) != 0) return;
  if ((how.sa_flags & SA_SIGINFO) == 0 && (how.sa_handler == SIG_DFL || how.sa_handler == SIG_IGN))
    return;
  any_is_unmodeled = true;
}

static void note_sent(const void* by, pid_t process, int signal) {
  if (engine::has_signals() || !by_program(by) || process != getpid()) return;
  const engine_scope inside;
  if (has_other_threads()) note_unmodeled(signal);
}

int send_to_thread(unsigned index, int signal, const sigval* value) {
  siginfo_t info = value != nullptr ? queued(signal, *value) : sent_by_user(signal);
  if (value == nullptr) info.si_code = SI_TKILL;
  if (!is_kept(signal)) return ENOSYS;
  send_by_program(info, static_cast<int>(index));
  return 0;
}

}  // namespace syncopate::instrument

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

// ---- waiting ------------------------------------------------------------------------------------

SYNCOPATE_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* limit) {
  end_transaction("sigtimedwait", SYNCOPATE_CALLER);
  const results_of_call told(SYNCOPATE_CALLER, info);
  const auto* const where = SYNCOPATE_CALLER;
  if (limit == nullptr && waits_in_vain(bits_of(*set), where)) wait_for_good(where);
  if (waits_natively(where)) return SYNCOPATE_REAL(sigtimedwait)(set, info, limit);
  if (limit != nullptr && (limit->tv_sec < 0 || limit->tv_nsec < 0 || limit->tv_nsec >= second)) {
    errno = EINVAL;
    return -1;
  }
  return wait_for_signal(set, info, limit, where);
}
SYNCOPATE_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  end_transaction("sigwaitinfo", SYNCOPATE_CALLER);
  const results_of_call told(SYNCOPATE_CALLER, info);
  const auto* const where = SYNCOPATE_CALLER;
  if (waits_in_vain(bits_of(*set), where)) wait_for_good(where);
  if (waits_natively(where)) return SYNCOPATE_REAL(sigwaitinfo)(set, info);
  return wait_for_signal(set, info, nullptr, where);
}
SYNCOPATE_EXPORT int sigwait(const sigset_t* set, int* signal) {
  end_transaction("sigwait", SYNCOPATE_CALLER);
  const results_of_call told(SYNCOPATE_CALLER, signal);
  const auto* const where = SYNCOPATE_CALLER;
  if (waits_in_vain(bits_of(*set), where)) wait_for_good(where);
  if (waits_natively(where)) return SYNCOPATE_REAL(sigwait)(set, signal);
  int found = 0;
  do found = wait_for_signal(set, nullptr, nullptr, where);
  while (found < 0 && errno == EINTR);
  if (found < 0) return errno;
  *signal = found;
  return 0;
}

SYNCOPATE_EXPORT int pause() {
  end_transaction("pause", SYNCOPATE_CALLER);
  if (!by_program(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(pause)();
  return wait_for_handler("pause", SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int sigsuspend(const sigset_t* mask) {
  end_transaction("sigsuspend", SYNCOPATE_CALLER);
  const auto* const where = SYNCOPATE_CALLER;
  if (!is_machines(where)) {
    if (by_program(where) && has_other_threads()) refuse_to_block("sigsuspend");
    if (waits_in_vain(~bits_of(*mask), where)) wait_for_good(where);
    return SYNCOPATE_REAL(sigsuspend)(mask);
  }
  const interruptions before = interruptions_so_far();
  const signal_bits old = signal_mask();
  set_signal_mask(bits_of(*mask));
  int result = -1;
  if (!ended_by_signal(before)) result = wait_for_handler("sigsuspend", where);
  set_signal_mask(old);
  take_signals();
  errno = EINTR;
  return result;
}

// ---- masks and actions --------------------------------------------------------------------------

SYNCOPATE_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, before);
  note_signal_mask(SYNCOPATE_CALLER);
  if (!is_machines(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(pthread_sigmask)(how, set, before);
  return change_mask(how, set, before);
}
SYNCOPATE_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, before);
  note_signal_mask(SYNCOPATE_CALLER);
  if (!is_machines(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(sigprocmask)(how, set, before);
  const int error = change_mask(how, set, before);
  if (error == 0) return 0;
  errno = error;
  return -1;
}
SYNCOPATE_EXPORT int signalfd(int file, const sigset_t* set, int flags) noexcept {
  end_transaction("signalfd", SYNCOPATE_CALLER);
  if (is_machines(SYNCOPATE_CALLER)) note_signal_file(bits_of(*set));
  return SYNCOPATE_REAL(signalfd)(file, set, flags);
}
SYNCOPATE_EXPORT int sigpending(sigset_t* set) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, set);
  const int result = SYNCOPATE_REAL(sigpending)(set);
  if (result == 0 && is_machines(SYNCOPATE_CALLER))
    *set = set_of(bits_of(*set) | (pending_signals() & signal_mask()));
  return result;
}

SYNCOPATE_EXPORT int sigaction(int signal, const struct sigaction* wanted,
                               struct sigaction* before) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, before);
  if (wanted != nullptr) note_signal_action(signal, SYNCOPATE_CALLER);
  if (!is_machines(SYNCOPATE_CALLER) || signal < 1 || signal > SIGRTMAX || is_system_signal(signal))
    return SYNCOPATE_REAL(sigaction)(signal, wanted, before);
  return set_action(signal, wanted, before);
}
SYNCOPATE_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  note_signal_action(number, SYNCOPATE_CALLER);
  if (!is_machines(SYNCOPATE_CALLER) || number < 1 || number > SIGRTMAX || is_system_signal(number))
    return SYNCOPATE_REAL(signal)(number, handler);
  struct sigaction wanted {};
  struct sigaction before {};
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  return set_action(number, &wanted, &before) == 0 ? before.sa_handler : SIG_ERR;
}

SYNCOPATE_EXPORT void siglongjmp(struct __jmp_buf_tag to[1], int value) {
  jump(SYNCOPATE_REAL(siglongjmp), to, value);
}
extern "C" void __longjmp_chk(struct __jmp_buf_tag to[1], int value);
SYNCOPATE_EXPORT void __longjmp_chk(struct __jmp_buf_tag to[1], int value) {
  jump(SYNCOPATE_REAL(__longjmp_chk), to, value);
}

// ---- sending ------------------------------------------------------------------------------------

SYNCOPATE_EXPORT int kill(pid_t process, int signal) noexcept {
  end_transaction("kill", SYNCOPATE_CALLER);
  if (is_machines(SYNCOPATE_CALLER) && process == getpid() &&
      send(signal, sent_by_user(signal)) == 0)
    return 0;
  note_sent(SYNCOPATE_CALLER, process, signal);
  return SYNCOPATE_REAL(kill)(of_system(process), signal);
}
SYNCOPATE_EXPORT int sigqueue(pid_t process, int signal, const sigval value) noexcept {
  end_transaction("sigqueue", SYNCOPATE_CALLER);
  if (is_machines(SYNCOPATE_CALLER) && process == getpid() &&
      send(signal, queued(signal, value)) == 0)
    return 0;
  note_sent(SYNCOPATE_CALLER, process, signal);
  return SYNCOPATE_REAL(sigqueue)(of_system(process), signal, value);
}
SYNCOPATE_EXPORT int raise(int signal) noexcept {
  end_transaction("raise", SYNCOPATE_CALLER);
  if (is_machines(SYNCOPATE_CALLER) && send_to_thread(self_record().index, signal, nullptr) == 0)
    return 0;
  return SYNCOPATE_REAL(raise)(signal);
}
