// libc_random.cpp -- random numbers that the program asks of the system, of the C library and, by
// std::random_device, of the processor; and files that hold such numbers.
#include "model/front/compiler/critical_sections.h"
#include "model/front/libc/random_numbers.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "model/front/libc/call_memory.h"
#include "model/front/libc/told_files.h"
#include "model/front/program/identity.h"
#include "model/front/program/library_state.h"
#include "model/front/program/options.h"

// Since glibc 2.36.
extern "C" std::uint32_t arc4random() noexcept;
extern "C" void arc4random_buf(void*, std::size_t) noexcept;
extern "C" std::uint32_t arc4random_uniform(std::uint32_t) noexcept;

namespace syncopate::instrument {
namespace {

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t next_number() {
  static std::uint64_t state = option_number("SEED", 1) * 0x9e37'79b9'7f4a'7c15;
  std::uint64_t z = state += 0x9e37'79b9'7f4a'7c15;
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
  return z ^ (z >> 31);
}

// On the heap of this library: the addresses of its variables are part of results.
std::vector<bool>& files() {
  static auto& all = *new std::vector<bool>;
  return all;
}

bool names_random_file(const char* path) {
  return path != nullptr &&
         (std::strcmp(path, "/dev/urandom") == 0 || std::strcmp(path, "/dev/random") == 0);
}

// Constructors ask the machine, too: a generator with a seed of the system's is often a global.
bool gives(engine::place where) {
  return asks_machine() && !from_libc(where) && has_random_numbers();
}

// What explored programs get is this computer's.
template <class Result>
Result written(Result result, const void* to, std::size_t bytes, engine::place where) {
  if (by_program(where)) call_wrote(to, bytes, where);
  return result;
}

int note_file(int file, const char* path, engine::place where) {
  if (file < 0 || !gives(where)) return file;
  const engine_scope inside;
  if (!names_random_file(path)) return file;
  const auto index = static_cast<std::size_t>(file);
  if (files().size() <= index) files().resize(index + 1);
  files()[index] = true;
  return file;
}

ssize_t read_cookie(void*, char* to, std::size_t bytes) {
  fill_randomly(to, bytes);
  return static_cast<ssize_t>(bytes);
}

}  // namespace

bool has_random_numbers() { return !engine::runs_again(); }

void fill_randomly(void* to, std::size_t bytes) {
  const engine_scope inside;
  auto* at = static_cast<unsigned char*>(to);
  for (std::size_t done = 0; done < bytes; done += sizeof(std::uint64_t)) {
    const std::uint64_t number = next_number();
    std::memcpy(at + done, &number, std::min(sizeof number, bytes - done));
  }
}

bool is_random_file(int file) {
  const engine_scope inside;
  const auto index = static_cast<std::size_t>(file);
  return file >= 0 && index < files().size() && files()[index];
}

void forget_random_file(int file) {
  const engine_scope inside;
  if (is_random_file(file)) files()[static_cast<std::size_t>(file)] = false;
}

std::FILE* open_random(const char* path, const char* mode, engine::place where) {
  if (!gives(where) || !names_random_file(path)) return nullptr;
  if (cpp_library_code.has(where)) {  // a file's buffer, which reads by the stream's number
    std::FILE* const stream = SYNCOPATE_REAL(fopen)(path, mode);
    if (stream != nullptr) note_file(::fileno(stream), path, where);
    return stream;
  }
  cookie_io_functions_t calls{};
  calls.read = read_cookie;
  return fopencookie(nullptr, mode, calls);
}

}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT ssize_t getrandom(void* to, std::size_t bytes, unsigned flags) {
  if (!gives(SYNCOPATE_CALLER))
    return written(SYNCOPATE_REAL(getrandom)(to, bytes, flags), to, bytes, SYNCOPATE_CALLER);
  fill_randomly(to, bytes);
  return static_cast<ssize_t>(bytes);
}
SYNCOPATE_EXPORT int getentropy(void* to, std::size_t bytes) {
  if (!gives(SYNCOPATE_CALLER))
    return written(SYNCOPATE_REAL(getentropy)(to, bytes), to, bytes, SYNCOPATE_CALLER);
  constexpr std::size_t most = 256;
  if (bytes > most) {
    errno = EIO;
    return -1;
  }
  fill_randomly(to, bytes);
  return 0;
}
SYNCOPATE_EXPORT std::uint32_t arc4random() noexcept {
  if (!gives(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(arc4random)();
  std::uint32_t number = 0;
  fill_randomly(&number, sizeof number);
  return number;
}
SYNCOPATE_EXPORT void arc4random_buf(void* to, std::size_t bytes) noexcept {
  if (!gives(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(arc4random_buf)(to, bytes);
  fill_randomly(to, bytes);
}
SYNCOPATE_EXPORT std::uint32_t arc4random_uniform(std::uint32_t below) noexcept {
  if (!gives(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(arc4random_uniform)(below);
  std::uint64_t number = 0;
  fill_randomly(&number, sizeof number);
  return below != 0 ? static_cast<std::uint32_t>(number % below) : 0;
}

// std::random_device::_M_getval()
unsigned random_device_value(void* device) asm("_ZNSt13random_device9_M_getvalEv");
[[gnu::visibility("default")]] unsigned random_device_value(void* device) {
  if (gives(SYNCOPATE_CALLER)) {
    unsigned number = 0;
    fill_randomly(&number, sizeof number);
    return number;
  }
  static auto* const real =
      reinterpret_cast<unsigned (*)(void*)>(dlsym(RTLD_NEXT, "_ZNSt13random_device9_M_getvalEv"));
  return real(device);
}

#define OPEN_NOTED(name, parameters, last, ...)                                           \
  SYNCOPATE_EXPORT int name parameters {                                                  \
    std::va_list list;                                                                    \
    va_start(list, last);                                                                 \
    const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;        \
    const auto mode = makes ? va_arg(list, mode_t) : mode_t{0};                           \
    va_end(list);                                                                         \
    const auto* const where = SYNCOPATE_CALLER;                                           \
    end_transaction(#name, where);                                                        \
    const int told = (flags & O_ACCMODE) == O_RDONLY ? open_told(path, where) : -1;       \
    if (told >= 0) return note_opened(told, where);                                       \
    return note_opened(note_file(SYNCOPATE_REAL(name)(__VA_ARGS__), path, where), where); \
  }
OPEN_NOTED(open, (const char* path, int flags, ...), flags, path, flags, mode)
OPEN_NOTED(open64, (const char* path, int flags, ...), flags, path, flags, mode)
OPEN_NOTED(openat, (int folder, const char* path, int flags, ...), flags, folder, path, flags, mode)
OPEN_NOTED(openat64, (int folder, const char* path, int flags, ...), flags, folder, path, flags,
           mode)
