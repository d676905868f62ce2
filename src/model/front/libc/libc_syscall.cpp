// libc_syscall.cpp -- syscall(): the futex call and questions about the thread go to the
// machine.
//
// Memory order (each tag stands at its site below)
//   [F]  seq_cst: the kernel compares the word between full fences.
#include <cerrno>

#include <syncopate/machine/system_call.h>
#include <cstdarg>
#include <ctime>

#include <linux/futex.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/signals.h"
#include "model/front/program/identity.h"
#include "model/front/threads/arch.h"

namespace syncopate::instrument {
namespace {

long result_of(machine::park_result how) {
  switch (how) {
    case machine::park_result::woken: return 0;
    case machine::park_result::value_changed: return -EAGAIN;
    case machine::park_result::timed_out: return -ETIMEDOUT;
    case machine::park_result::interrupted: return -EINTR;
  }
  __builtin_unreachable();
}

machine::deadline deadline_after(const timespec& how_long) {
  constexpr long second = 1'000'000'000;
  const std::uint64_t now = engine::nanoseconds(CLOCK_MONOTONIC);
  const long nanoseconds = static_cast<long>(now % second) + how_long.tv_nsec;
  return {{static_cast<time_t>(now / second) + how_long.tv_sec + nanoseconds / second,
           nanoseconds % second},
          CLOCK_MONOTONIC};
}

// What FUTEX_WAKE_OP changes, and whether who waits there is woken, too.
bool change(engine::address word, std::uint32_t encoded, engine::place where) {
  using engine::operation;
  constexpr operation operations[] = {operation::exchange, operation::add, operation::or_,
                                      operation::and_, operation::xor_};
  const auto part = [encoded](unsigned low) {  // twelve bits with a sign
    return static_cast<std::int32_t>(encoded << (20 - low)) >> 20;
  };
  const unsigned what = encoded >> 28 & 7u;
  std::int32_t operand = part(12);
  if ((encoded >> 28 & unsigned{FUTEX_OP_OPARG_SHIFT}) != 0) operand = 1 << (operand & 31);
  if (what == FUTEX_OP_ANDN) operand = ~operand;
  const auto was = static_cast<std::int32_t>(
      engine::modify(word, 4, operations[what], static_cast<std::uint32_t>(operand),
                     std::memory_order_seq_cst, where));  // [F]
  const std::int32_t other = part(0);
  switch (encoded >> 24 & 15u) {
    case FUTEX_OP_CMP_EQ: return was == other;
    case FUTEX_OP_CMP_NE: return was != other;
    case FUTEX_OP_CMP_LT: return was < other;
    case FUTEX_OP_CMP_LE: return was <= other;
    case FUTEX_OP_CMP_GT: return was > other;
    default: return was >= other;
  }
}

long wake_after_change(const long* a, engine::place where) {
  const auto first = static_cast<engine::address>(a[0]);
  const auto second = static_cast<engine::address>(a[4]);
  const auto encoded = static_cast<std::uint32_t>(a[5]);
  if ((encoded >> 28 & 7u) > FUTEX_OP_XOR || (encoded >> 24 & 15u) > FUTEX_OP_CMP_GE)
    return -ENOSYS;
  const bool both = change(second, encoded, where);
  long woken = engine::wake(first, static_cast<int>(a[2]), FUTEX_BITSET_MATCH_ANY, where);
  if (both) woken += engine::wake(second, static_cast<int>(a[3]), FUTEX_BITSET_MATCH_ANY, where);
  return woken;
}

bool is_time(const timespec& t) {
  return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < 1'000'000'000;
}

// a[0..5]: word, operation, value, time or limit, second word, value3.
long futex(const long* a, engine::place where) {
  const auto word = static_cast<engine::address>(a[0]);
  const int command = static_cast<int>(a[1]) & FUTEX_CMD_MASK;
  if (word % 4 != 0) return -EINVAL;
  const auto value = static_cast<std::uint32_t>(a[2]);
  const auto* time = reinterpret_cast<const timespec*>(a[3]);
  const auto bits = static_cast<std::uint32_t>(a[5]);
  machine::deadline until{};
  const bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
  if (waits && time != nullptr && !is_time(*time)) return -EINVAL;
  switch (command) {
    case FUTEX_WAIT:
      if (time != nullptr) until = deadline_after(*time);
      return result_of(engine::park(word, value, time != nullptr ? &until : nullptr,
                                    FUTEX_BITSET_MATCH_ANY, where));
    case FUTEX_WAIT_BITSET:
      if (bits == 0) return -EINVAL;
      if (time != nullptr) {
        until = {*time, (a[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC};
      }
      return result_of(engine::park(word, value, time != nullptr ? &until : nullptr, bits, where));
    case FUTEX_WAKE:
      return engine::wake(word, static_cast<int>(value), FUTEX_BITSET_MATCH_ANY, where);
    case FUTEX_WAKE_BITSET:
      if (bits == 0) return -EINVAL;
      return engine::wake(word, static_cast<int>(value), bits, where);
    case FUTEX_CMP_REQUEUE:
      if (engine::load(word, 4, std::memory_order_seq_cst, where) != bits) return -EAGAIN;  // [F]
      [[fallthrough]];
    case FUTEX_REQUEUE:
      return engine::requeue(word, static_cast<engine::address>(a[4]), static_cast<int>(value),
                             static_cast<int>(a[3]), where);
    case FUTEX_WAKE_OP: return wake_after_change(a, where);
    default: return -ENOSYS;  // priority inheritance, futex2
  }
}

// Whether the machine answers the call.
bool answer(long number, const long* a, engine::place where, long& result) {
  const engine_scope inside;
  switch (number) {
    case SYS_futex:
      result = futex(a, where);
      if (result == -EINTR) take_signals();
      return true;
    case SYS_gettid: result = thread_id(engine::current()); return true;
    case SYS_sched_yield:
      engine::yield(where);
      result = 0;
      return true;
    case SYS_getcpu:
      if (a[0] != 0) *reinterpret_cast<unsigned*>(a[0]) = engine::processor();
      if (a[1] != 0) *reinterpret_cast<unsigned*>(a[1]) = engine::node();
      result = 0;
      return true;
    default: return false;
  }
}

// A function of the C library that this library has: what the system call of its name returns.
template <class Result>
long as_system_call(Result result) {
  return result == Result(-1) ? -errno : static_cast<long>(result);
}

// The kernel tells how many bytes of the mask it has written.
long affinity(const long* a) {
  constexpr unsigned word = 8 * sizeof(long);
  const unsigned processors = static_cast<unsigned>(::get_nprocs());
  const long needed = (processors + word - 1) / word * sizeof(long);
  if (a[1] < needed || a[1] % sizeof(long) != 0) return -EINVAL;
  const long result =
      as_system_call(::sched_getaffinity(static_cast<pid_t>(a[0]), static_cast<std::size_t>(a[1]),
                                         reinterpret_cast<cpu_set_t*>(a[2])));
  return result == 0 ? needed : result;
}

// Whether it asks what this library answers by a function of its own; static constructors do, too.
bool answer_as_function(long number, const long* a, long& result) {
  auto* const first = reinterpret_cast<timespec*>(a[0]);
  auto* const second = reinterpret_cast<timespec*>(a[1]);
  switch (number) {
    case SYS_clock_gettime:
      result = as_system_call(::clock_gettime(static_cast<clockid_t>(a[0]), second));
      return true;
    case SYS_clock_getres:
      result = as_system_call(::clock_getres(static_cast<clockid_t>(a[0]), second));
      return true;
    case SYS_gettimeofday:
      result = as_system_call(::gettimeofday(reinterpret_cast<timeval*>(a[0]), nullptr));
      return true;
    case SYS_time: result = as_system_call(::time(reinterpret_cast<time_t*>(a[0]))); return true;
    case SYS_getrusage:
      result = as_system_call(
          ::getrusage(static_cast<__rusage_who_t>(a[0]), reinterpret_cast<rusage*>(a[1])));
      return true;
    case SYS_times: result = as_system_call(::times(reinterpret_cast<tms*>(a[0]))); return true;
    case SYS_getrandom:
      result =
          as_system_call(::getrandom(reinterpret_cast<void*>(a[0]), static_cast<std::size_t>(a[1]),
                                     static_cast<unsigned>(a[2])));
      return true;
    case SYS_sched_getaffinity: result = affinity(a); return true;
    case SYS_sched_setaffinity:
      result = as_system_call(::sched_setaffinity(static_cast<pid_t>(a[0]),
                                                  static_cast<std::size_t>(a[1]),
                                                  reinterpret_cast<const cpu_set_t*>(a[2])));
      return true;
    case SYS_nanosleep: result = as_system_call(::nanosleep(first, second)); return true;
    case SYS_clock_nanosleep:
      result = -::clock_nanosleep(static_cast<clockid_t>(a[0]), static_cast<int>(a[1]),
                                  reinterpret_cast<const timespec*>(a[2]),
                                  reinterpret_cast<timespec*>(a[3]));
      return true;
    default: return false;
  }
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT long syscall(long number, ...) noexcept {
  long a[6];
  std::va_list arguments;
  va_start(arguments, number);
  for (long& each : a) each = va_arg(arguments, long);
  va_end(arguments);

  long result = 0;
  const auto* where = SYNCOPATE_CALLER;
  bool answered = false;
  if (by_program(where)) {
    section_called("syscall", where);
    if (in_transaction()) {
      const engine_scope inside;
      syncopate::engine::htm_unfriendly(where);
    }
    answered = answer(number, a, where, result);
  }
  if (!answered && asks_machine() && !from_libc(where))
    answered = answer_as_function(number, a, result);
  if (!answered)
    result = syncopate::machine::system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}
