// futex.cpp -- syscall(SYS_futex), seen by the recorder only.
//
// A futex word says neither what it is nor who holds it. Whether it is used as a lock is told by
// who wakes its waiters (record/wakes.cpp); one that the kernel itself hands on
// (FUTEX_LOCK_PI) is a lock anyway. Beside it, syscall() of SYS_exit_group and of exec's numbers,
// behind which nothing is to be recorded any more (exit.cpp, exec.cpp).
#include <syncopate/machine.h>

#include <cerrno>

#include <linux/futex.h>
#include <sys/syscall.h>

#include "preload/base/export.h"
#include "preload/base/real.h"
#include "record/recorder.h"

namespace syncopate::shim {
namespace {

using record::wait_kind;

enum class futex_use { none, wait, lock, wake };
constexpr long lock_pi2 = 13;  // FUTEX_LOCK_PI2; headers of kernels before 5.14 lack it

futex_use use_of(long number, long operation) noexcept {
  if (number != SYS_futex) return futex_use::none;
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: return futex_use::wait;
    case FUTEX_LOCK_PI:
    case lock_pi2: return futex_use::lock;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: return futex_use::wake;
    default: return futex_use::none;
  }
}

struct futex_call {
  long operation, value, timeout, second, third;
  long on(const void* word) const noexcept {
    return real::syscall(SYS_futex, reinterpret_cast<long>(word), operation, value, timeout, second,
                         third);
  }
};

// Whether the kernel put the thread to sleep, or looked whether to: the word had another value, or
// the call was wrong.
bool has_waited(long result, int error) noexcept {
  return result == 0 || error == ETIMEDOUT || error == EINTR;
}

long wait_recorded(const void* word, futex_use use, const futex_call& call,
                   const void* caller) noexcept {
  const std::uint32_t id = record::identify(record::object_kind::futex, 0, word, nullptr);
  const auto kind = [&] {
    return use == futex_use::lock ? wait_kind::futex_lock : record::kind_of_futex(id);
  };
  if (use == futex_use::wait) record::count_wait(id, static_cast<std::uint32_t>(call.value));
  record::wait w = record::wait_begin(kind(), id, 0, {caller, call.timeout != 0});
  const long result = call.on(word);
  const int error = errno;
  w.kind = kind();
  if (!has_waited(result, error)) record::wait_refused(w);
  else if (use == futex_use::lock && result != 0) record::wait_in_vain(w);
  else record::wait_end_now(w);
  if (result == 0) record::futex_waited(word);
  errno = error;
  return result;
}

long wake_recorded(const void* word, const futex_call& call) noexcept {
  const std::uint64_t began = machine::ticks();
  const long result = call.on(word);
  if (result <= 0) return result;
  const int error = errno;
  record::futex_woken(word, call.value == 1, began);
  errno = error;
  return result;
}

}  // namespace
}  // namespace syncopate::shim

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

// Declared without `...` here: a variadic call with up to six integer arguments after the number
// passes them exactly where these parameters are.
SYNCOPATE_EXPORT long syncopate_syscall(long number, long a, long b, long c, long d, long e,
                                        long f) __asm__("syscall");
long syncopate_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (__builtin_expect(!record::enabled, 1)) return real::syscall(number, a, b, c, d, e, f);
  if (number == SYS_exit_group) record::finish();
  if (number == SYS_execve || number == SYS_execveat) {
    record::about_to_exec();
    const long result = real::syscall(number, a, b, c, d, e, f);
    record::exec_has_failed();
    return result;
  }
  const futex_use use = use_of(number, b);
  if (use == futex_use::none) return real::syscall(number, a, b, c, d, e, f);
  const auto* const word = reinterpret_cast<const void*>(a);  // NOLINT(performance-no-int-to-ptr)
  const futex_call call{b, c, d, e, f};
  if (use == futex_use::wake) return wake_recorded(word, call);
  return wait_recorded(word, use, call, __builtin_return_address(0));
}
