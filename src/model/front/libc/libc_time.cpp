// libc_time.cpp -- clocks and sleeping: the program sees the machine's time.
#include <algorithm>
#include <cerrno>
#include <ctime>

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/call_memory.h"
#include "model/front/libc/signals.h"
#include "model/front/program/identity.h"
#include "model/front/pthread/cancel.h"

namespace syncopate::instrument {
namespace {

constexpr std::int64_t second = 1'000'000'000, farthest = INT64_MAX / second / 4;

std::uint64_t now(int clock) {
  const engine_scope inside;
  return engine::nanoseconds(clock);
}

timespec to_timespec(std::uint64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / second), static_cast<long>(nanoseconds % second)};
}

bool valid(const timespec& t) { return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < second; }

// Clocks of sleepers and deadlines are one of two.
clockid_t waiting_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI
             ? CLOCK_REALTIME
             : CLOCK_MONOTONIC;
}

// A cancellation point. A handler ends the sleep: returns what is left, in nanoseconds.
std::uint64_t sleep_until(std::uint64_t until, clockid_t clock, engine::place where) {
  test_cancel();
  const interruptions before = interruptions_so_far();
  std::uint64_t left = 0;
  do {
    const engine_scope inside;
    if (in_transaction()) engine::htm_unfriendly(where);
    engine::sleep_until({to_timespec(until), clock}, where);
    if (!engine::has_signals()) break;
    const std::uint64_t at = engine::nanoseconds(clock);
    left = until > at ? until - at : 0;
  } while (left != 0 && !ended_by_signal(before) && !is_canceled());
  test_cancel();
  return left;
}

std::uint64_t sleep_for(const timespec& how_long, clockid_t clock, engine::place where) {
  section_called("sleep", where);
  const std::int64_t seconds = std::min<std::int64_t>(how_long.tv_sec, farthest);
  return sleep_until(now(clock) + static_cast<std::uint64_t>(seconds * second + how_long.tv_nsec),
                     clock, where);
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

// Where the program wants the result.
#define TELLS(to, ...)                                                                \
  do {                                                                                \
    if (by_program(SYNCOPATE_CALLER)) call_wrote(to, sizeof *(to), SYNCOPATE_CALLER); \
    *(to) = __VA_ARGS__;                                                              \
  } while (false)

// Clocks are asked by the program's static constructors, too: no result depends on the real date.
#define UNLESS_ASKED(name, ...) \
  if (!asks_machine() || from_libc(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(name)(__VA_ARGS__)

// Those that Linux has; the clocks of processes and threads are negative.
static bool is_clock(clockid_t clock) {
  constexpr clockid_t gone = 10;
  return clock <= CLOCK_TAI && clock != gone;
}
// 0 where one can sleep by it.
static int refusal_to_sleep(clockid_t clock) {
  if (!is_clock(clock) || clock == CLOCK_THREAD_CPUTIME_ID) return EINVAL;
  const bool only_tells = clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_REALTIME_COARSE ||
                          clock == CLOCK_MONOTONIC_COARSE;
  return only_tells ? EOPNOTSUPP : 0;
}
static int no_clock() {
  errno = EINVAL;
  return -1;
}

SYNCOPATE_EXPORT int clock_gettime(clockid_t clock, timespec* t) noexcept {
  UNLESS_ASKED(clock_gettime, clock, t);
  if (!is_clock(clock)) return no_clock();
  TELLS(t, to_timespec(now(clock)));
  return 0;
}
SYNCOPATE_EXPORT int clock_getres(clockid_t clock, timespec* t) noexcept {
  UNLESS_ASKED(clock_getres, clock, t);
  if (!is_clock(clock)) return no_clock();
  if (t != nullptr) TELLS(t, {0, 1});
  return 0;
}
SYNCOPATE_EXPORT int timespec_get(timespec* t, int base) noexcept {
  UNLESS_ASKED(timespec_get, t, base);
  if (base != TIME_UTC) return 0;
  TELLS(t, to_timespec(now(CLOCK_REALTIME)));
  return base;
}
SYNCOPATE_EXPORT int gettimeofday(timeval* t, void* zone) noexcept {
  UNLESS_ASKED(gettimeofday, t, zone);
  const timespec precise = to_timespec(now(CLOCK_REALTIME));
  TELLS(t, {precise.tv_sec, precise.tv_nsec / 1000});
  return 0;
}
SYNCOPATE_EXPORT time_t time(time_t* t) noexcept {
  UNLESS_ASKED(time, t);
  const time_t seconds = to_timespec(now(CLOCK_REALTIME)).tv_sec;
  if (t != nullptr) TELLS(t, seconds);
  return seconds;
}
SYNCOPATE_EXPORT clock_t clock() noexcept {
  UNLESS_ASKED(clock);
  return static_cast<clock_t>(now(CLOCK_PROCESS_CPUTIME_ID) / 1000);
}

// All of it as the user's. What else is told is this computer's.
SYNCOPATE_EXPORT int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  const int result = SYNCOPATE_REAL(getrusage)(who, usage);
  if (result == 0 && by_program(SYNCOPATE_CALLER))
    call_wrote(usage, sizeof *usage, SYNCOPATE_CALLER);
  if (!asks_machine() || from_libc(SYNCOPATE_CALLER)) return result;
  if (result != 0 || who == RUSAGE_CHILDREN) return result;
  const timespec used =
      to_timespec(now(who == RUSAGE_SELF ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID));
  usage->ru_utime = {used.tv_sec, used.tv_nsec / 1000};
  usage->ru_stime = {};
  return 0;
}
SYNCOPATE_EXPORT clock_t times(tms* used) noexcept {
  UNLESS_ASKED(times, used);
  const std::uint64_t tick = static_cast<std::uint64_t>(second / ::sysconf(_SC_CLK_TCK));
  if (used != nullptr)
    TELLS(used, {static_cast<clock_t>(now(CLOCK_PROCESS_CPUTIME_ID) / tick), 0, 0, 0});
  return static_cast<clock_t>(now(CLOCK_MONOTONIC) / tick);
}

#undef UNLESS_ASKED
#define UNLESS_PROGRAM(name, ...) \
  if (!by_program(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(name)(__VA_ARGS__)

SYNCOPATE_EXPORT int nanosleep(const timespec* how_long, timespec* left) {
  UNLESS_PROGRAM(nanosleep, how_long, left);
  if (!valid(*how_long)) {
    errno = EINVAL;
    return -1;
  }
  const std::uint64_t rest = sleep_for(*how_long, CLOCK_MONOTONIC, SYNCOPATE_CALLER);
  if (rest == 0) return 0;
  if (left != nullptr) TELLS(left, to_timespec(rest));
  errno = EINTR;
  return -1;
}
SYNCOPATE_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* t,
                                     timespec* left) {
  UNLESS_PROGRAM(clock_nanosleep, clock, flags, t, left);
  if (const int error = refusal_to_sleep(clock); error != 0) return error;
  if (t->tv_nsec < 0 || t->tv_nsec >= second) return EINVAL;
  if ((flags & TIMER_ABSTIME) == 0) {
    if (t->tv_sec < 0) return EINVAL;
    const std::uint64_t rest = sleep_for(*t, waiting_clock(clock), SYNCOPATE_CALLER);
    if (rest != 0 && left != nullptr) TELLS(left, to_timespec(rest));
    return rest != 0 ? EINTR : 0;
  }
  section_called("clock_nanosleep", SYNCOPATE_CALLER);
  const std::uint64_t until =
      t->tv_sec < 0
          ? 0
          : static_cast<std::uint64_t>(std::min(t->tv_sec, farthest) * second + t->tv_nsec);
  return sleep_until(until, waiting_clock(clock), SYNCOPATE_CALLER) != 0 ? EINTR : 0;
}
SYNCOPATE_EXPORT int usleep(useconds_t microseconds) {
  UNLESS_PROGRAM(usleep, microseconds);
  const timespec how_long = to_timespec(std::uint64_t{microseconds} * 1000);
  if (sleep_for(how_long, CLOCK_MONOTONIC, SYNCOPATE_CALLER) == 0) return 0;
  errno = EINTR;
  return -1;
}
SYNCOPATE_EXPORT unsigned sleep(unsigned seconds) {
  UNLESS_PROGRAM(sleep, seconds);
  const std::uint64_t rest = sleep_for({seconds, 0}, CLOCK_MONOTONIC, SYNCOPATE_CALLER);
  return static_cast<unsigned>((rest + second - 1) / second);
}
