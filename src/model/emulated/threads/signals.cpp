// The program's handlers are called by on_signal(), which stands in for them in the kernel. While
// the machine's own code runs (runtime_scope) or a transaction, it puts the signal off: it blocks
// all signals in the context that it returns to, and take_signal() sends the signal once more.
#include "signals.h"
#include "real_mutex.h"

#include <syncopate/machine/system_call.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "model/emulated/htm/transaction.h"
#include "model/front/pthread/real.h"

namespace syncopate::emulated {

extern "C" [[noreturn, gnu::visibility("hidden")]] void syncopate_emulated_abort(thread*) noexcept;

namespace {

using action = struct sigaction;
constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
constexpr int by_dispatch = 2;  // SYS_USER_DISPATCH

constinit action programs[NSIG] = {};
constinit bool is_ours[NSIG] = {};  // on_signal() is installed
constinit real_mutex changing;

bool is_fault(int number) noexcept {
  for (const int each : faults)
    if (each == number) return true;
  return false;
}

void without_faults(sigset_t& set) noexcept {
  for (const int each : faults) sigdelset(&set, each);
}

// The interrupted code does not go on: what it has of the transaction is rolled back instead.
void redirect(thread& t, ucontext_t& context, reason why) noexcept {
  greg_t* const at = context.uc_mcontext.gregs;
  t.why = why;
  t.where = reinterpret_cast<place>(at[REG_RIP]);
  t.block_calls = 0;
  here.inside = 1;
  at[REG_RIP] = reinterpret_cast<greg_t>(&syncopate_emulated_abort);
  at[REG_RDI] = reinterpret_cast<greg_t>(&t);
}

// Returns: whether it is dealt with.
bool is_transactions_fault(const siginfo_t& info, ucontext_t& context) noexcept {
  if (!is_fault(info.si_signo) || info.si_code <= 0) return false;
  const bool is_call = info.si_signo == SIGSYS && info.si_code == by_dispatch;
  thread* const t = here.current;
  if (t == nullptr || here.inside != 0) return false;
  redirect(*t, context, is_call ? reason::system_call : reason::fault);
  return true;
}

bool put_off(const siginfo_t& info, ucontext_t& context) noexcept {
  thread* const t = here.self;
  if (t == nullptr || (here.current == nullptr && here.inside == 0)) return false;
  if (is_fault(info.si_signo) && info.si_code > 0) return false;
  t->signal_info = info;
  t->signal_mask = context.uc_sigmask;
  t->has_signal = true;
  sigfillset(&context.uc_sigmask);
  without_faults(context.uc_sigmask);
  if (here.inside == 0) redirect(*t, context, reason::signal);
  return true;
}

void send_to_self(siginfo_t info) noexcept {
  machine::system_call(SYS_rt_tgsigqueueinfo, getpid(), gettid(), info.si_signo,
                       reinterpret_cast<long>(&info));
}

void act_as_default(int number, const siginfo_t& info) noexcept {
  action none{};
  none.sa_handler = SIG_DFL;
  SYNCOPATE_REAL(sigaction)(number, &none, nullptr);
  if (info.si_code <= 0) send_to_self(info);  // else the instruction faults once more
}

void on_signal(int number, siginfo_t* info, void* context) {
  const int error = errno;
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (is_transactions_fault(*info, interrupted) || put_off(*info, interrupted)) {
    errno = error;
    return;
  }
  const action wanted = programs[number];
  const bool ignores = wanted.sa_handler == SIG_IGN && info->si_code <= 0;
  if (wanted.sa_handler == SIG_DFL || (wanted.sa_handler == SIG_IGN && !ignores)) {
    act_as_default(number, *info);
  } else if (!ignores) {
    if ((wanted.sa_flags & static_cast<int>(SA_RESETHAND)) != 0)
      programs[number].sa_handler = SIG_DFL;
    const handler_scope interrupts;
    if ((wanted.sa_flags & SA_SIGINFO) != 0) wanted.sa_sigaction(number, info, context);
    else wanted.sa_handler(number);
  }
  errno = error;
}

// What the kernel is given in place of the program's action.
action in_place_of(int number, const action& wanted) noexcept {
  action given = wanted;
  without_faults(given.sa_mask);
  const bool has_handler = wanted.sa_handler != SIG_DFL && wanted.sa_handler != SIG_IGN;
  if (!has_handler && !is_fault(number)) return given;
  given.sa_sigaction = on_signal;
  given.sa_flags = (wanted.sa_flags | SA_SIGINFO) & ~static_cast<int>(SA_RESETHAND);
  if (!has_handler) given.sa_flags |= SA_ONSTACK | SA_NODEFER;
  return given;
}

int change_action(int number, const action* wanted, action* before) noexcept {
  const runtime_scope inside;
  const std::lock_guard lock(changing);
  auto* const real = SYNCOPATE_REAL(sigaction);
  if (number <= 0 || number >= NSIG) return real(number, wanted, before);
  const action was = programs[number];
  const bool was_ours = is_ours[number];
  action kernels{};
  int result;
  if (wanted == nullptr) {
    result = real(number, nullptr, &kernels);
  } else {
    const action given = in_place_of(number, *wanted);
    // First, so that a signal right after finds it.
    programs[number] = *wanted;
    is_ours[number] = given.sa_sigaction == on_signal;
    result = real(number, &given, &kernels);
    if (result != 0) {
      programs[number] = was;
      is_ours[number] = was_ours;
    }
  }
  if (before != nullptr && result == 0) *before = was_ours ? was : kernels;
  return result;
}

sighandler_t change_handler(int number, sighandler_t handler, int flags) noexcept {
  action wanted{}, before{};
  wanted.sa_handler = handler;
  wanted.sa_flags = flags;
  sigemptyset(&wanted.sa_mask);
  return change_action(number, &wanted, &before) == 0 ? before.sa_handler : SIG_ERR;
}

// A blocked fault ends the process.
const sigset_t* maskable(int how, const sigset_t* set, sigset_t& copy) noexcept {
  if (set == nullptr || how == SIG_UNBLOCK) return set;
  copy = *set;
  without_faults(copy);
  return &copy;
}

}  // namespace

void take_signals() noexcept {
  for (const int number : faults) {
    action kernels{};
    SYNCOPATE_REAL(sigaction)(number, nullptr, &kernels);
    change_action(number, &kernels, nullptr);
  }
}

void take_signal(thread& t) noexcept {
  end_transaction(reason::signal, nullptr);  // comes here again after the roll-back
  const siginfo_t info = t.signal_info;
  const sigset_t mask = t.signal_mask;
  t.has_signal = false;
  send_to_self(info);  // blocked until the next line
  constexpr long kernels_set_bytes = 8;
  machine::system_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), 0,
                       kernels_set_bytes);
}

}  // namespace syncopate::emulated

using namespace syncopate::emulated;

#define NO_TRANSACTION end_transaction(reason::system_call, SYNCOPATE_CALLER)

SYNCOPATE_EXPORT int sigaction(int number, const struct sigaction* wanted,
                               struct sigaction* before) noexcept {
  NO_TRANSACTION;
  return change_action(number, wanted, before);
}
SYNCOPATE_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  NO_TRANSACTION;
  return change_handler(number, handler, SA_RESTART);
}
SYNCOPATE_EXPORT sighandler_t bsd_signal(int number, sighandler_t handler) noexcept {
  NO_TRANSACTION;
  return change_handler(number, handler, SA_RESTART);
}
SYNCOPATE_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
  NO_TRANSACTION;
  return change_handler(number, handler, static_cast<int>(SA_RESETHAND | SA_NODEFER));
}
SYNCOPATE_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  NO_TRANSACTION;
  sigset_t copy;
  return SYNCOPATE_REAL(sigprocmask)(how, maskable(how, set, copy), before);
}
SYNCOPATE_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  NO_TRANSACTION;
  sigset_t copy;
  return SYNCOPATE_REAL(pthread_sigmask)(how, maskable(how, set, copy), before);
}
