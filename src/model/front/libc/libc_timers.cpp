// libc_timers.cpp -- setitimer, alarm and timer_create: signals that come at the machine's time
// (signals.h). timerfd is in libc_files.cpp. Refused, with a line: timers of processor time, whose
// next moment no machine knows before, and all of them where the machine does not say when signals
// come.
//
// SIGEV_THREAD: as the C library has it, a thread for each timer sleeps until that one fires, and
// makes another one that calls the function.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <deque>
#include <utility>

#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include "model/front/libc/call_memory.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/signals.h"
#include "model/front/program/identity.h"
#include "model/front/program/options.h"
#include "model/front/pthread/threads.h"

namespace syncopate::instrument {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

struct timer {
  clockid_t clock = CLOCK_MONOTONIC;
  sigevent event{};
  bool exists = true;
  std::uint64_t next = 0, period = 0;  // nanoseconds of the monotonic clock; 0: none
  int overrun = 0, last_overrun = 0;   // since the signal that waits; of the one that was taken
  // SIGEV_THREAD:
  int helper = -1;            // its index, once it runs
  std::uint64_t to_call = 0;  // so often
  std::uint32_t word = 0;     // what the helper sleeps on
};

// The first is ITIMER_REAL's and alarm()'s. On the heap of this library: the addresses of its
// variables are part of results.
std::deque<timer>& timers() {
  static auto& all = *new std::deque<timer>;
  if (all.empty()) {
    timer& real = all.emplace_back();
    real.event.sigev_notify = SIGEV_SIGNAL;
    real.event.sigev_signo = SIGALRM;
  }
  return all;
}

std::uint64_t now() { return engine::nanoseconds(CLOCK_MONOTONIC); }

timespec to_timespec(std::uint64_t ns) {
  return {static_cast<time_t>(ns / second), static_cast<long>(ns % second)};
}
std::uint64_t to_ns(const timespec& t) {
  return static_cast<std::uint64_t>(t.tv_sec) * second + static_cast<std::uint64_t>(t.tv_nsec);
}
std::uint64_t to_ns(const timeval& t) {
  return static_cast<std::uint64_t>(t.tv_sec) * second +
         static_cast<std::uint64_t>(t.tv_usec) * 1000;
}
bool is_valid(const timespec& t) {
  return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < static_cast<long>(second);
}
bool is_valid(const timeval& t) { return t.tv_sec >= 0 && t.tv_usec >= 0 && t.tv_usec < 1'000'000; }

void arrange_alarm() {
  std::uint64_t first = 0;
  for (const timer& t : timers())
    if (t.next != 0 && (first == 0 || t.next < first)) first = t.next;
  engine::set_alarm(first);
}

void fire(int number, timer& t) {
  if (t.event.sigev_notify == SIGEV_NONE) return;
  if (t.event.sigev_notify == SIGEV_THREAD) {
    ++t.to_call;
    if (t.helper >= 0) engine::interrupt(static_cast<unsigned>(t.helper));
    return;
  }
  siginfo_t info{};
  info.si_signo = t.event.sigev_signo;
  info.si_code = number == 0 ? SI_KERNEL : SI_TIMER;
  if (number != 0) {
    info.si_timerid = number;
    info.si_value = t.event.sigev_value;
  }
  const int thread =
      t.event.sigev_notify == SIGEV_THREAD_ID ? t.event._sigev_un._tid - thread_id(0) : -1;
  send_signal(info, thread, number);
}

struct setting {
  std::uint64_t next = 0, period = 0;
};

// Returns what is left of the one before.
setting set(timer& t, setting to) {
  const std::uint64_t at = now();
  const setting before{t.next == 0 ? 0 : t.next > at ? t.next - at : 1, t.period};
  t.next = to.next;
  t.period = to.period;
  arrange_alarm();
  return before;
}

timer* find(timer_t handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number == 0 || number >= timers().size() || !timers()[number].exists) return nullptr;
  return &timers()[number];
}

int fails(int error) {
  errno = error;
  return -1;
}

void say_refused(const char* what) {
  static bool said = false;
  if (!std::exchange(said, true))
    complain("%s failed: this machine has no such timers (docs/reference/model-limits.md)", what);
}

// ---- SIGEV_THREAD -------------------------------------------------------------------------------

struct notification {
  void (*function)(sigval);
  sigval value;
};

void* notify(void* of) {
  notification call{};
  {
    const engine_scope inside;
    auto* const given = static_cast<notification*>(of);
    call = *given;
    delete given;
  }
  call.function(call.value);
  return nullptr;
}

void* help(void* number) {
  timer* t = nullptr;
  unsigned me = 0;
  {
    const engine_scope inside;
    t = &timers()[reinterpret_cast<std::uintptr_t>(number)];
    me = engine::current();
    t->helper = static_cast<int>(me);
    set_signal_mask(~signal_bits{0});
  }
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  while (t->exists) {
    if (t->to_call == 0) {
      const engine_scope inside;
      engine::park(address_of(&t->word), 0, nullptr, ~0u, SYNCOPATE_CALLER);
      now();  // an operation of its own: what has interrupted it is taken
      continue;
    }
    --t->to_call;
    notification* call = nullptr;
    {
      const engine_scope inside;
      call = new notification{t->event.sigev_notify_function, t->event.sigev_value};
    }
    pthread_t thread;
    start_thread(&thread, &detached, notify, nullptr, call,
                 reinterpret_cast<engine::place>(t->event.sigev_notify_function));
  }
  pthread_attr_destroy(&detached);
  return nullptr;
}

bool start_helper(std::size_t number, engine::place where) {
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error =
      start_thread(&thread, &detached, help, nullptr, reinterpret_cast<void*>(number), where);
  pthread_attr_destroy(&detached);
  return error == 0;
}

// ---- names --------------------------------------------------------------------------------------

bool is_refused(const char* what, engine::place where) {
  if (!by_program(where) || engine::has_signals()) return false;
  const engine_scope inside;
  say_refused(what);
  return true;
}

}  // namespace

void ring_alarms(std::uint64_t at) {
  const engine_scope inside;
  std::deque<timer>& all = timers();
  for (std::size_t i = 0; i < all.size(); ++i) {
    timer& t = all[i];
    if (t.next == 0 || t.next > at) continue;
    const std::uint64_t times = t.period != 0 ? 1 + (at - t.next) / t.period : 1;
    t.next = t.period != 0 ? t.next + times * t.period : 0;
    fire(static_cast<int>(i), t);
  }
  arrange_alarm();
}

bool any_timer_sends(signal_bits which) {
  if (!engine::has_signals()) return false;
  const engine_scope inside;
  for (const timer& t : timers())
    if (t.next != 0 && t.event.sigev_notify != SIGEV_NONE &&
        (t.event.sigev_notify == SIGEV_THREAD || (which >> (t.event.sigev_signo - 1) & 1) != 0))
      return true;
  return false;
}

void timer_overran(int number, int times) {
  timers()[static_cast<std::size_t>(number)].overrun += times;
}

void timer_was_taken(int number, siginfo_t& info) {
  timer& t = timers()[static_cast<std::size_t>(number)];
  t.last_overrun = std::exchange(t.overrun, 0);
  if (number != 0) info.si_overrun = t.last_overrun;
}

void forget_timers() {
  if (!engine::has_signals()) return;
  const engine_scope inside;
  for (timer& t : timers()) {
    t.next = 0;
    if (&t != &timers().front()) t.exists = false;
  }
  engine::set_alarm(0);
}

}  // namespace syncopate::instrument

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::instrument;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int setitimer(__itimer_which_t which, const itimerval* to,
                               itimerval* before) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, before);
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(setitimer)(which, to, before);
  const engine_scope inside;
  if (!engine::has_signals() || which != ITIMER_REAL) {
    say_refused(which == ITIMER_REAL ? "setitimer()" : "setitimer() for processor time");
    return fails(EINVAL);
  }
  if (to != nullptr && (!is_valid(to->it_value) || !is_valid(to->it_interval)))
    return fails(EINVAL);
  timer& t = timers().front();
  const std::uint64_t first = to != nullptr ? to_ns(to->it_value) : 0;
  const setting was =
      set(t, {first != 0 ? now() + first : 0, to != nullptr ? to_ns(to->it_interval) : 0});
  if (before != nullptr) {
    const timespec value = to_timespec(was.next), period = to_timespec(was.period);
    *before = {{period.tv_sec, period.tv_nsec / 1000}, {value.tv_sec, value.tv_nsec / 1000}};
  }
  return 0;
}
SYNCOPATE_EXPORT int getitimer(__itimer_which_t which, itimerval* current) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, current);
  if (!by_program(SYNCOPATE_CALLER) || !engine::has_signals() || which != ITIMER_REAL)
    return SYNCOPATE_REAL(getitimer)(which, current);
  const engine_scope inside;
  const timer& t = timers().front();
  const std::uint64_t at = now();
  const timespec value = to_timespec(t.next > at ? t.next - at : 0), period = to_timespec(t.period);
  *current = {{period.tv_sec, period.tv_nsec / 1000}, {value.tv_sec, value.tv_nsec / 1000}};
  return 0;
}
SYNCOPATE_EXPORT unsigned alarm(unsigned seconds) noexcept {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(alarm)(seconds);
  if (is_refused("alarm()", where)) return 0;
  const engine_scope inside;
  const setting was =
      set(timers().front(), {seconds != 0 ? now() + std::uint64_t{seconds} * second : 0, 0});
  return static_cast<unsigned>((was.next + second / 2) / second) +
         (was.next != 0 && was.next < second / 2);
}
SYNCOPATE_EXPORT useconds_t ualarm(useconds_t first, useconds_t period) noexcept {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(ualarm)(first, period);
  if (is_refused("ualarm()", where)) return 0;
  const engine_scope inside;
  const setting was = set(timers().front(), {first != 0 ? now() + std::uint64_t{first} * 1000 : 0,
                                             std::uint64_t{period} * 1000});
  return static_cast<useconds_t>(was.next / 1000);
}

SYNCOPATE_EXPORT int timer_create(clockid_t clock, sigevent* event, timer_t* handle) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, handle);
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(timer_create)(clock, event, handle);
  std::size_t number = 0;
  bool helps = false;
  {
    const engine_scope inside;
    const bool is_known = clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME ||
                          clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
    if (!engine::has_signals() || !is_known) {
      say_refused(is_known ? "timer_create()" : "timer_create() for processor time");
      return fails(ENOTSUP);
    }
    number = timers().size();
    timer t;
    t.clock = clock == CLOCK_TAI ? CLOCK_REALTIME : clock;
    if (event != nullptr) {
      t.event = *event;
    } else {
      t.event.sigev_notify = SIGEV_SIGNAL;
      t.event.sigev_signo = SIGALRM;
      t.event.sigev_value.sival_int = static_cast<int>(number);
    }
    const int how = t.event.sigev_notify, signal = t.event.sigev_signo;
    const bool sends = how == SIGEV_SIGNAL || how == SIGEV_THREAD_ID;
    if ((!sends && how != SIGEV_NONE && how != SIGEV_THREAD) ||
        (sends && (signal < 1 || signal > SIGRTMAX)))
      return fails(EINVAL);
    timers().push_back(t);
    helps = how == SIGEV_THREAD;
  }
  if (helps && !start_helper(number, where)) return fails(EAGAIN);
  *handle = reinterpret_cast<timer_t>(number);
  return 0;
}
SYNCOPATE_EXPORT int timer_settime(timer_t handle, int flags, const itimerspec* to,
                                   itimerspec* before) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, before);
  if (!by_program(SYNCOPATE_CALLER) || !engine::has_signals())
    return SYNCOPATE_REAL(timer_settime)(handle, flags, to, before);
  const engine_scope inside;
  timer* const t = find(handle);
  if (t == nullptr || !is_valid(to->it_value) || !is_valid(to->it_interval)) return fails(EINVAL);
  std::uint64_t first = to_ns(to->it_value);
  if (first != 0) {
    if ((flags & TIMER_ABSTIME) == 0) {
      first += now();
    } else if (t->clock == CLOCK_REALTIME) {  // both run alike
      const std::uint64_t passed = engine::nanoseconds(CLOCK_REALTIME);
      first = now() + (first > passed ? first - passed : 0);
    }
    first = std::max<std::uint64_t>(first, 1);
  }
  const setting was = set(*t, {first, to_ns(to->it_interval)});
  if (before != nullptr) *before = {to_timespec(was.period), to_timespec(was.next)};
  return 0;
}
SYNCOPATE_EXPORT int timer_gettime(timer_t handle, itimerspec* current) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, current);
  if (!by_program(SYNCOPATE_CALLER) || !engine::has_signals())
    return SYNCOPATE_REAL(timer_gettime)(handle, current);
  const engine_scope inside;
  const timer* const t = find(handle);
  if (t == nullptr) return fails(EINVAL);
  const std::uint64_t at = now();
  *current = {to_timespec(t->period), to_timespec(t->next == 0   ? 0
                                                  : t->next > at ? t->next - at
                                                                 : 1)};
  return 0;
}
SYNCOPATE_EXPORT int timer_getoverrun(timer_t handle) noexcept {
  if (!by_program(SYNCOPATE_CALLER) || !engine::has_signals())
    return SYNCOPATE_REAL(timer_getoverrun)(handle);
  const engine_scope inside;
  const timer* const t = find(handle);
  return t != nullptr ? t->last_overrun : fails(EINVAL);
}
SYNCOPATE_EXPORT int timer_delete(timer_t handle) noexcept {
  if (!by_program(SYNCOPATE_CALLER) || !engine::has_signals())
    return SYNCOPATE_REAL(timer_delete)(handle);
  const engine_scope inside;
  timer* const t = find(handle);
  if (t == nullptr) return fails(EINVAL);
  t->exists = false;
  set(*t, {});
  if (t->helper >= 0) engine::interrupt(static_cast<unsigned>(t->helper));
  return 0;
}
