// system_call.cpp -- machine/system_call.h on aarch64: results, errno, and no call by name; and
// record/return_address.h in a program whose return addresses are signed.
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <syncopate/machine/system_call.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "record/return_address.h"

using syncopate::machine::system_call;
using syncopate::record::without_signature;

// Which the preload library stands in for: whoever calls it by name would record itself.
extern "C" long syscall(long, ...) {
  std::puts("syscall() was called by name");
  std::raise(SIGABRT);
  return -1;
}

namespace {

int failed = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  ++failed;
}

// A signature depends on where the frame is, and one in some hundred is all zero.
constexpr int frames = 32;
int signed_frames = 0;

[[gnu::noinline]] void look_at_frames(int more) {
  const auto* const frame = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
  const auto saved = const_cast<const volatile std::uintptr_t*>(frame)[1];
  const auto caller =
      reinterpret_cast<std::uintptr_t>(__builtin_extract_return_addr(__builtin_return_address(0)));
  const std::uintptr_t plain = caller & ((std::uintptr_t{1} << 48) - 1);
  if (saved != plain) ++signed_frames;
  expect(without_signature(saved) == plain, "without its signature it is the caller");
  expect(without_signature(plain) == plain, "a plain one stays as it is");
  if (more > 1) look_at_frames(more - 1);
  asm volatile("" ::: "memory");  // no tail call: each has a frame
}

}  // namespace

int main() {
  errno = 7;
  expect(system_call(SYS_close, -1) == -EBADF, "an error is -errno");
  expect(errno == 7, "errno is left alone");
  expect(system_call(SYS_getpid) > 0, "a value");
  int ends[2];
  expect(system_call(SYS_pipe2, reinterpret_cast<long>(ends), O_CLOEXEC) == 0, "two arguments");
  char text[] = "text", read[8] = "";
  expect(system_call(SYS_write, ends[1], reinterpret_cast<long>(text), 4) == 4, "three arguments");
  expect(system_call(SYS_read, ends[0], reinterpret_cast<long>(read), 8) == 4, "memory is written");
  expect(std::strcmp(read, text) == 0, "what was written is read");
  const long page = system_call(SYS_mmap, 0, 4096, 3, 0x22, -1, 0);  // six arguments
  expect(page > 0 && *reinterpret_cast<const volatile char*>(page) == 0, "six arguments");
  const bool can_sign = (getauxval(AT_HWCAP) & (1u << 30)) != 0;  // HWCAP_PACA
  expect(can_sign, "this processor can sign");                    // qemu's can
  look_at_frames(frames);
  expect(can_sign == (signed_frames > frames / 2), "return addresses are signed where they can be");
  return failed == 0 ? 0 : 1;
}
