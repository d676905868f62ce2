// system.h -- system calls without errno, and memory without an allocator.
//
// The recorder runs inside other people's lock calls: errno belongs to them, and the C library's
// wrappers set it, are cancellation points, and may be interposed. Results are the kernel's:
// a value, or -errno.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <syncopate/machine/system_call.h>

namespace syncopate::record::sys {

template <class... Arguments>
inline long call(long number, Arguments... arguments) noexcept {
  static_assert(sizeof...(Arguments) <= 6);
  return machine::system_call(number, (long)arguments...);
}

inline int open(const char* path, int flags, unsigned mode = 0) noexcept {
  return static_cast<int>(call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}
inline void close(int fd) noexcept { call(SYS_close, fd); }
inline long read(int fd, void* to, std::size_t bytes) noexcept {
  return call(SYS_read, fd, to, bytes);
}
inline long fstat(int fd, struct stat* to) noexcept { return call(SYS_fstat, fd, to); }
inline std::uint32_t process_id() noexcept { return static_cast<std::uint32_t>(call(SYS_getpid)); }
inline std::uint32_t thread_id() noexcept { return static_cast<std::uint32_t>(call(SYS_gettid)); }

// Whether the kernel does not do a call for this process at all, as in containers that refuse it.
inline bool is_refused(long result) noexcept { return result == -EPERM || result == -ENOSYS; }

// Copies memory of this process, at most 4096 bytes, that may be gone; whether all was there.
// The kernel looks: process_vm_readv(), or, where that is refused, as what a pipe is to be given.
inline bool copy_memory(const void* from, void* to, std::size_t bytes) noexcept {
  const iovec into{to, bytes}, out_of{const_cast<void*>(from), bytes};
  long got = call(SYS_process_vm_readv, process_id(), &into, 1, &out_of, 1, 0);
  int ends[2]{-1, -1};
  if (is_refused(got) && call(SYS_pipe2, ends, O_CLOEXEC | O_NONBLOCK) == 0) {
    got = call(SYS_write, ends[1], from, bytes);
    if (got > 0) got = read(ends[0], to, static_cast<std::size_t>(got));
    close(ends[0]);
    close(ends[1]);
  }
  return got == static_cast<long>(bytes);
}

// The soft limit of one resource; RLIM_INFINITY when it cannot be read.
inline rlim_t limit(int resource) noexcept {
  rlimit64 value{};
  if (call(SYS_prlimit64, 0, resource, nullptr, &value) < 0) return RLIM_INFINITY;
  return value.rlim_cur;
}

// Whole file into `to`, at most `bytes`; returns how many were read, 0 when it cannot be opened.
inline std::size_t read_file(const char* path, char* to, std::size_t bytes) noexcept {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return 0;
  std::size_t done = 0;
  while (done < bytes) {
    const long n = read(fd, to + done, bytes - done);
    if (n == -EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  close(fd);
  return done;
}

// Anonymous zeroed pages, private to this process; nullptr when there are none.
inline void* pages(std::size_t bytes) noexcept {
  constexpr int access = PROT_READ | PROT_WRITE;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#if defined(__SANITIZE_THREAD__)
  // The thread sanitizer must see it, or takes reused addresses for the memory that was there.
  void* const at = ::mmap(nullptr, bytes, access, flags, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
#else
  const long result = call(SYS_mmap, nullptr, bytes, access, flags, -1, 0);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel and registers give numbers
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
#endif
}
inline void free_pages(void* at, std::size_t bytes) noexcept {
  if (at == nullptr) return;
#if defined(__SANITIZE_THREAD__)
  ::munmap(at, bytes);
#else
  call(SYS_munmap, at, bytes);
#endif
}

// Decimal digits of `value` and a terminating zero at `to`; returns the end of the digits.
inline char* put_number(char* to, std::uint32_t value) noexcept {
  char digits[10];
  int n = 0;
  do {
    digits[n++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (n != 0) *to++ = digits[--n];
  *to = 0;
  return to;
}

// Hexadecimal digits of `value` at `to`; returns their end.
inline char* put_hex(char* to, std::uint64_t value) noexcept {
  unsigned shift = 60;
  while (shift != 0 && value >> shift == 0) shift -= 4;
  for (;; shift -= 4) {
    *to++ = "0123456789abcdef"[value >> shift & 15];
    if (shift == 0) return to;
  }
}

}  // namespace syncopate::record::sys
