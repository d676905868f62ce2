// system_call.h -- a system call past the C library.
#pragma once

#include <cerrno>

#include <unistd.h>

namespace syncopate::machine {

// Returns what the kernel returns: -errno on errors. Leaves errno alone, calls no name that another
// library may take, is no cancellation point. Async-signal-safe.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) noexcept {
#if defined(__x86_64__)
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#else
  const int saved = errno;
  long result = ::syscall(number, a, b, c, d, e, f);
  if (result == -1) result = -errno;
  errno = saved;
  return result;
#endif
}

}  // namespace syncopate::machine
