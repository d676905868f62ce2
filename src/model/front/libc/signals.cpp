#include "model/front/libc/signals.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <syncopate/machine/system_call.h>

#include "model/front/program/program_exit.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

namespace syncopate::instrument {

namespace {

constexpr int signals = 64, first_queued = 32;  // from there on each one is kept, if equal

using action = struct sigaction;

constexpr signal_bits bit(int signal) { return signal_bits{1} << (signal - 1); }

struct kept_signal {
  siginfo_t info;
  int timer;
};

struct thread_signals {
  signal_bits mask = 0, awaited = 0;
  bool ended = false;
  std::vector<kept_signal> kept;
  interruptions seen;
};

// On the heap of this library: the addresses of its variables are part of results.
struct all_signals {
  std::deque<thread_signals> threads;  // by index
  std::vector<kept_signal> kept;       // for any of them
  action actions[signals + 1] = {};
  bool has_action[signals + 1] = {};
  signal_bits by_file = 0;  // read by signalfd
};

signal_bits native_mask() {
  sigset_t now;
  sigemptyset(&now);
  SYNCOPATE_REAL(pthread_sigmask)(SIG_BLOCK, nullptr, &now);
  return bits_of(now);
}

all_signals& all() {
  static auto& one = *new all_signals;
  return one;
}

thread_signals& of(unsigned index) {
  std::deque<thread_signals>& threads = all().threads;
  if (threads.empty()) threads.emplace_back().mask = native_mask();
  while (threads.size() <= index) threads.emplace_back();
  return threads[index];
}

unsigned me() { return engine::current(); }

// What the native handler has noted. (One OS thread: no more than the compiler has to be told.)
volatile std::sig_atomic_t has_come[signals + 1] = {};
siginfo_t what_came[signals + 1] = {};

void note_outside(int signal, siginfo_t* info, void*) {
  what_came[signal] = *info;
  has_come[signal] = 1;
  engine::look_outside();
}

action action_of(int signal) {
  if (all().has_action[signal]) return all().actions[signal];
  action known{};
  SYNCOPATE_REAL(sigaction)(signal, nullptr, &known);
  return known;
}

bool is_ignored(const action& a, int signal) {
  if ((a.sa_flags & SA_SIGINFO) != 0) return false;
  if (a.sa_handler == SIG_IGN) return true;
  return a.sa_handler == SIG_DFL &&
         (signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH);
}

// Who gets a signal of the process: whoever waits for it, then main, then the others.
int choose(int signal) {
  const std::deque<thread_signals>& threads = all().threads;
  for (std::size_t i = 0; i < threads.size(); ++i)
    if ((threads[i].awaited & bit(signal)) != 0) return static_cast<int>(i);
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (!threads[i].ended && (threads[i].mask & bit(signal)) == 0) return static_cast<int>(i);
  return -1;
}

bool take_of(std::vector<kept_signal>& from, signal_bits which, kept_signal& taken) {
  auto best = from.end();
  for (auto each = from.begin(); each != from.end(); ++each)
    if ((which & bit(each->info.si_signo)) != 0 &&
        (best == from.end() || each->info.si_signo < best->info.si_signo))
      best = each;
  if (best == from.end()) return false;
  taken = *best;
  from.erase(best);
  if (taken.timer >= 0) timer_was_taken(taken.timer, taken.info);
  return true;
}

bool take_any(unsigned thread, signal_bits which, kept_signal& taken) {
  return take_of(of(thread).kept, which, taken) || take_of(all().kept, which, taken);
}

[[noreturn]] void end_by(int signal) {
  char line[96];
  std::snprintf(line, sizeof line, "syncopate: the program was ended by signal %d (%s)", signal,
                sigdescr_np(signal) != nullptr ? sigdescr_np(signal) : "real-time");
  flushes_streams = false;
  ended_by = signal;
  engine::finish(engine::end::abort, 128 + signal, line, nullptr);
}

bool call_handler(thread_signals& t, kept_signal s) {
  const int signal = s.info.si_signo;
  const action how = action_of(signal);
  if (is_ignored(how, signal)) return false;
  const bool with_info = (how.sa_flags & SA_SIGINFO) != 0;
  if (!with_info && how.sa_handler == SIG_DFL) end_by(signal);
  ++t.seen.handlers;
  if ((how.sa_flags & SA_RESTART) == 0) ++t.seen.without_restart;
  if ((how.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    action none{};
    none.sa_handler = SIG_DFL;
    set_action(signal, &none, nullptr);
  }
  const signal_bits before = t.mask;
  t.mask |= bits_of(how.sa_mask);
  if ((how.sa_flags & SA_NODEFER) == 0) t.mask |= bit(signal);
  const int error = errno;
  {
    ucontext_t context;
    getcontext(&context);
    const program_scope program;
    if (with_info) how.sa_sigaction(signal, &s.info, &context);
    else how.sa_handler(signal);
  }
  errno = error;
  t.mask = before;
  return true;
}

// The system's mask is what all threads have in common: signals from outside come to any.
void mask_natively() {
  signal_bits common = ~signal_bits{0};
  for (const thread_signals& t : all().threads)
    if (!t.ended) common &= t.mask;
  for (int signal = 1; signal <= signals; ++signal)
    if (is_system_signal(signal) && signal != SIGABRT) common &= ~bit(signal);
  const sigset_t set = set_of(common);
  SYNCOPATE_REAL(pthread_sigmask)(SIG_SETMASK, &set, nullptr);
}

}  // namespace

bool is_system_signal(int signal) {
  switch (signal) {
    case SIGKILL:
    case SIGSTOP:
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
    case SIGABRT:
    case SIGURG: return true;  // runaway.h
    default: return signal == SIGRTMAX - 3 || (signal >= first_queued && signal < SIGRTMIN);
  }
}

bool is_kept(int signal) {
  if (!engine::has_signals() || signal < 1 || signal > signals || is_system_signal(signal))
    return false;
  const engine_scope inside;
  of(0);
  const action how = action_of(signal);
  // What ends or stops the process is the system's, unless the signal has to wait.
  if ((how.sa_flags & SA_SIGINFO) != 0 || how.sa_handler != SIG_DFL) return true;
  return choose(signal) < 0 || (of(me()).mask & bit(signal)) != 0 ||
         (of(static_cast<unsigned>(choose(signal))).awaited & bit(signal)) != 0;
}

siginfo_t sent_by_user(int signal) {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_USER;
  info.si_pid = getpid();
  info.si_uid = getuid();
  return info;
}

void send_signal(const siginfo_t& info, int thread, int timer) {
  const int signal = info.si_signo;
  of(0);
  std::vector<kept_signal>& kept =
      thread >= 0 ? of(static_cast<unsigned>(thread)).kept : all().kept;
  for (const kept_signal& each : kept) {
    if (each.info.si_signo != signal) continue;
    if (signal >= first_queued && (timer < 0 || each.timer != timer)) continue;
    if (timer >= 0) timer_overran(timer, 1);
    return;
  }
  const int target = thread >= 0 ? thread : choose(signal);
  const bool blocked =
      target < 0 ||
      ((of(static_cast<unsigned>(target)).mask | of(static_cast<unsigned>(target)).awaited) &
       bit(signal)) != 0;
  if (!blocked && is_ignored(action_of(signal), signal)) return;
  if (target < 0 && (all().by_file & bit(signal)) != 0) {  // the system blocks it, too
    machine::system_call(SYS_rt_sigqueueinfo, getpid(), signal, reinterpret_cast<long>(&info), 0, 0,
                         0);
    return;
  }
  kept.push_back({info, timer});
  if (target >= 0) engine::interrupt(static_cast<unsigned>(target));
}

void send_by_program(const siginfo_t& info, int thread) {
  const engine_scope inside;
  send_signal(info, thread);
  take_signals();
}

bool take_signals() {
  const engine_scope inside;
  const unsigned index = me();
  bool any = false;
  kept_signal next{};
  while (take_any(index, ~of(index).mask, next)) any |= call_handler(of(index), next);
  return any;
}

void note_signal_file(signal_bits which) {
  const engine_scope inside;
  all().by_file |= which;
}

void take_outside() {
  const engine_scope inside;
  for (int signal = 1; signal <= signals; ++signal) {
    if (has_come[signal] == 0) continue;
    has_come[signal] = 0;
    send_signal(what_came[signal], -1);
  }
}

bool outside_waits() {
  return std::any_of(std::begin(has_come), std::end(has_come), [](int come) { return come != 0; });
}

// ---- waits --------------------------------------------------------------------------------------

interruptions interruptions_so_far() {
  if (!engine::has_signals()) return {};
  const engine_scope inside;
  return of(me()).seen;
}

bool ended_by_signal(const interruptions& before) {
  if (!engine::has_signals()) return false;
  take_signals();
  return interruptions_so_far().handlers != before.handlers;
}

bool ended_without_restart(const interruptions& before) {
  if (!engine::has_signals()) return false;
  take_signals();
  return interruptions_so_far().without_restart != before.without_restart;
}

signal_bits pending_signals() {
  const engine_scope inside;
  signal_bits found = 0;
  for (const kept_signal& each : of(me()).kept) found |= bit(each.info.si_signo);
  for (const kept_signal& each : all().kept) found |= bit(each.info.si_signo);
  return found;
}

bool take_pending(signal_bits which, siginfo_t& info) {
  const engine_scope inside;
  kept_signal taken{};
  if (!take_any(me(), which, taken)) return false;
  info = taken.info;
  return true;
}

void set_awaited(signal_bits which) {
  const engine_scope inside;
  of(me()).awaited = which;
}

// ---- masks --------------------------------------------------------------------------------------

signal_bits bits_of(const sigset_t& set) {
  signal_bits bits = 0;
  for (int signal = 1; signal <= signals; ++signal)
    if (sigismember(&set, signal) == 1) bits |= bit(signal);
  return bits;
}

sigset_t set_of(signal_bits bits) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal = 1; signal <= signals; ++signal)
    if ((bits & bit(signal)) != 0) sigaddset(&set, signal);
  return set;
}

signal_bits signal_mask() {
  const engine_scope inside;
  return of(me()).mask;
}

void set_signal_mask(signal_bits mask) {
  const engine_scope inside;
  of(me()).mask = mask & ~(bit(SIGKILL) | bit(SIGSTOP));
  mask_natively();
}

void begin_signals(unsigned thread, signal_bits mask) {
  const engine_scope inside;
  of(thread).mask = mask;
}

void end_signals(unsigned thread) {
  const engine_scope inside;
  thread_signals& t = of(thread);
  t.ended = true;
  t.awaited = 0;
  if (t.mask != 0) mask_natively();
  // What was meant for it may be another's, unless it was for it alone.
  for (const kept_signal& each : all().kept)
    if (const int other = choose(each.info.si_signo); other >= 0)
      engine::interrupt(static_cast<unsigned>(other));
}

// ---- actions ------------------------------------------------------------------------------------

int set_action(int signal, const struct sigaction* wanted, struct sigaction* before) {
  const engine_scope inside;
  const action known = action_of(signal);
  if (wanted != nullptr) {
    action given = *wanted;
    const bool is_handler = (given.sa_flags & SA_SIGINFO) != 0 ||
                            (given.sa_handler != SIG_DFL && given.sa_handler != SIG_IGN);
    if (is_handler) {
      given.sa_sigaction = note_outside;
      given.sa_flags = SA_SIGINFO | (given.sa_flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT));
      sigemptyset(&given.sa_mask);
    }
    if (SYNCOPATE_REAL(sigaction)(signal, &given, nullptr) != 0) return -1;
    all().actions[signal] = *wanted;
    all().has_action[signal] = is_handler;
  }
  if (before != nullptr) *before = known;
  return 0;
}

}  // namespace syncopate::instrument
