// libc_streams.cpp -- the C library's streams. Inside hardware transactions: they end there, as no
// machine rolls back what streams have taken. Whoever watches critical sections is told; so is the
// machine, of the memory read and written. POSIX lets them be cancellation points; they are none.
// Otherwise nothing is changed.

// The C library's headers define some of these inline.
#if !defined(__NO_INLINE__)
#define __NO_INLINE__ 1
#endif
#include <cstdarg>
#include <cstdio>

#include <cerrno>

#include <poll.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/call_memory.h"
#include "model/front/libc/file_waits.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/random_numbers.h"
#include "model/front/libc/scan_names.h"
#include "model/front/libc/stream_locks.h"
#include "model/front/libc/told_files.h"
#include "model/front/program/begun_files.h"
#include "model/front/program/options.h"

namespace syncopate::instrument {
namespace {

template <class Call>
auto take(std::FILE* stream, const char* name, engine::place where, Call call) -> decltype(call()) {
  const int file = fileno_unlocked(stream);
  note_asked(file, where);
  if (file < 0 || stream->_IO_read_ptr < stream->_IO_read_end || !may_block(file)) return call();
  detail::wait_for_file(file, POLLIN, where);
  if (!is_own_file(file)) return call();
  order_call(file, POLLIN, where);
  decltype(call()) result;
  {
    const detail::without_blocking now(file);
    errno = 0;
    result = call();
  }
  if (ferror_unlocked(stream) != 0 && errno == EAGAIN) {
    const engine_scope inside;
    fail(
        "%s() wants more of a stream than has come, and would block the threads that send it"
        " (docs/reference/model-limits.md)",
        name);
  }
  files_changed(where);
  return result;
}

std::FILE* real_stream(const char* path, const char* mode,
                       std::FILE* (*real)(const char*, const char*), engine::place where) {
  std::FILE* const random = open_random(path, mode, where);
  if (random != nullptr) return random;
  std::FILE* const told = open_told(path, mode, where);
  return told != nullptr ? told : real(path, mode);
}
std::FILE* real_stream(int file, const char* mode, std::FILE* (*real)(int, const char*),
                       engine::place) {
  return real(file, mode);
}

// The string and its length are the caller's variables; the string itself may be another now.
void wrote_line(char** to, std::size_t* n, std::size_t got, engine::place where) {
  call_reads(to, sizeof *to, where);
  call_reads(n, sizeof *n, where);
  call_wrote(to, sizeof *to, where);
  call_wrote(n, sizeof *n, where);
  call_wrote(*to, got + 1, where);
}

void wrote_text(char* to, engine::place where) {
  std::size_t n = 0;
  while (to[n] != '\0') ++n;
  call_wrote(to, n + 1, where);
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

#define PASS_ON(type, name, stream, parameters, ...) \
  PASS_READING(type, name, stream, (void)0, parameters, __VA_ARGS__)
// `announced`: what the call reads of the program's memory.
#define PASS_READING(type, name, stream, announced, parameters, ...) \
  SYNCOPATE_EXPORT type name parameters {                            \
    const auto* const where = SYNCOPATE_CALLER;                      \
    end_transaction(#name, where);                                   \
    if (by_program(where)) announced;                                \
    const stream_call held(stream, #name, where);                    \
    return SYNCOPATE_REAL(name)(__VA_ARGS__);                        \
  }
#define OPEN(name, parameters, ...)                                                               \
  SYNCOPATE_EXPORT std::FILE* name parameters {                                                   \
    const auto* const where = SYNCOPATE_CALLER;                                                   \
    end_transaction(#name, where);                                                                \
    auto real = [&] { return real_stream(__VA_ARGS__, SYNCOPATE_REAL(name), where); };            \
    return open_stream([](void* call) { return (*static_cast<decltype(real)*>(call))(); }, &real, \
                       where);                                                                    \
  }
#define OPEN_OTHER(name, parameters, ...)                                                         \
  SYNCOPATE_EXPORT std::FILE* name parameters {                                                   \
    const auto* const where = SYNCOPATE_CALLER;                                                   \
    end_transaction(#name, where);                                                                \
    auto real = [&] { return SYNCOPATE_REAL(name)(__VA_ARGS__); };                                \
    return open_stream([](void* call) { return (*static_cast<decltype(real)*>(call))(); }, &real, \
                       where);                                                                    \
  }
// One that takes from a stream: where nothing of it is in memory, it waits for the file first. What
// it then takes may be more than has come: that is asked of the file without blocking where this
// program alone can send it, since it could not while this thread blocks.
#define TAKE(type, name, parameters, stream, ...) \
  TAKE_TO(type, name, (void)0, parameters, stream, __VA_ARGS__)
// `behind`: what is announced of memory that `got`, the result, says was written.
#define TAKE_TO(type, name, behind, parameters, stream, ...)                           \
  SYNCOPATE_EXPORT type name parameters {                                              \
    const auto* const where = SYNCOPATE_CALLER;                                        \
    if (!by_program(where)) return SYNCOPATE_REAL(name)(__VA_ARGS__);                  \
    end_transaction(#name, where);                                                     \
    const stream_call held(stream, #name, where);                                      \
    const auto got =                                                                   \
        take(stream, #name, where, [&] { return SYNCOPATE_REAL(name)(__VA_ARGS__); }); \
    behind;                                                                            \
    return got;                                                                        \
  }
// Functions with `...`, by those of theirs that take the list.
#define PASS_LIST(name, list_name, stream, parameters, last, ...)    \
  SYNCOPATE_EXPORT int name parameters {                             \
    const auto* const where = SYNCOPATE_CALLER;                      \
    end_transaction(#name, where);                                   \
    std::va_list list;                                               \
    va_start(list, last);                                            \
    if (by_program(where)) call_reads_format(format, list, where);   \
    const stream_call held(stream, #name, where);                    \
    const int result = SYNCOPATE_REAL(list_name)(__VA_ARGS__, list); \
    va_end(list);                                                    \
    return result;                                                   \
  }

OPEN(fopen, (const char* path, const char* mode), path, mode)
OPEN(fopen64, (const char* path, const char* mode), path, mode)
SYNCOPATE_EXPORT int fclose(std::FILE* stream) {
  const auto* const where = SYNCOPATE_CALLER;
  end_transaction("fclose", where);
  if (by_program(where)) {
    forget_closed(fileno_unlocked(stream), where);
    forget_stream(stream, where);
  }
  return SYNCOPATE_REAL(fclose)(stream);
}
PASS_READING(int, fputs, stream, call_reads_text(text, where),
             (const char* text, std::FILE* stream), text, stream)
PASS_READING(int, puts, stdout, call_reads_text(text, where), (const char* text), text)
PASS_ON(int, putchar, stdout, (int c), c)
PASS_ON(int, putc, stream, (int c, std::FILE* stream), c, stream)
PASS_ON(int, fputc, stream, (int c, std::FILE* stream), c, stream)
PASS_ON(int, fflush, stream, (std::FILE * stream), stream)
PASS_READING(std::size_t, fwrite, stream, call_reads(from, n* count, where),
             (const void* from, std::size_t n, std::size_t count, std::FILE* stream), from, n,
             count, stream)
TAKE_TO(std::size_t, fread, call_wrote(to, got* n, where),
        (void* to, std::size_t n, std::size_t count, std::FILE* stream), stream, to, n, count,
        stream)
TAKE_TO(char*, fgets, if (got != nullptr) wrote_text(to, where),
        (char* to, int n, std::FILE* stream), stream, to, n, stream)
PASS_READING(int, vprintf, stdout, call_reads_format(format, list, where),
             (const char* format, std::va_list list), format, list)
PASS_READING(int, vfprintf, stream, call_reads_format(format, list, where),
             (std::FILE * stream, const char* format, std::va_list list), stream, format, list)
OPEN(fdopen, (int file, const char* mode), file, mode)
OPEN_OTHER(tmpfile, ())
OPEN_OTHER(tmpfile64, ())
OPEN_OTHER(fmemopen, (void* at, std::size_t n, const char* mode) noexcept, at, n, mode)
SYNCOPATE_EXPORT std::FILE* popen(const char* command, const char* mode) {
  const auto* const where = SYNCOPATE_CALLER;
  end_transaction("popen", where);
  auto real = [&] { return SYNCOPATE_REAL(popen)(command, mode); };
  std::FILE* const stream =
      open_stream([](void* call) { return (*static_cast<decltype(real)*>(call))(); }, &real, where);
  if (stream != nullptr && by_program(where)) note_command(fileno_unlocked(stream));
  return stream;
}
SYNCOPATE_EXPORT int pclose(std::FILE* stream) {
  const auto* const where = SYNCOPATE_CALLER;
  end_transaction("pclose", where);
  if (by_program(where)) {
    forget_file(fileno_unlocked(stream));
    forget_stream(stream, where);
  }
  return SYNCOPATE_REAL(pclose)(stream);
}
SYNCOPATE_EXPORT std::FILE* freopen(const char* path, const char* mode, std::FILE* stream) {
  const auto* const where = SYNCOPATE_CALLER;
  end_transaction("freopen", where);
  const stream_call held(stream, "freopen", where);
  if (by_program(where)) forget_closed(fileno_unlocked(stream), where);
  return SYNCOPATE_REAL(freopen)(path, mode, stream);
}
TAKE(int, fgetc, (std::FILE * stream), stream, stream)
TAKE(int, getc, (std::FILE * stream), stream, stream)
TAKE(int, getchar, (), stdin, )
PASS_ON(int, ungetc, stream, (int c, std::FILE* stream), c, stream)
TAKE_TO(ssize_t, getline, if (got >= 0) wrote_line(to, n, std::size_t(got), where),
        (char** to, std::size_t* n, std::FILE* stream), stream, to, n, stream)
static ssize_t take_until(int end, char** to, std::size_t* n, std::FILE* stream, const char* name,
                          syncopate::engine::place where) {
  auto* const real = SYNCOPATE_REAL(getdelim);
  if (!by_program(where)) return real(to, n, end, stream);
  end_transaction(name, where);
  const stream_call held(stream, name, where);
  const ssize_t got = take(stream, name, where, [&] { return real(to, n, end, stream); });
  if (got >= 0) wrote_line(to, n, std::size_t(got), where);
  return got;
}
SYNCOPATE_EXPORT ssize_t getdelim(char** to, std::size_t* n, int end, std::FILE* stream) {
  return take_until(end, to, n, stream, "getdelim", SYNCOPATE_CALLER);
}
// What the C library's header makes of getline() from -O1 on.
SYNCOPATE_EXPORT ssize_t __getdelim(char** to, std::size_t* n, int end, std::FILE* stream) {
  return take_until(end, to, n, stream, "getline", SYNCOPATE_CALLER);
}
PASS_ON(int, setvbuf, stream, (std::FILE * stream, char* buffer, int mode, std::size_t n), stream,
        buffer, mode, n)
PASS_ON(int, fseek, stream, (std::FILE * stream, long offset, int from), stream, offset, from)
PASS_ON(long, ftell, stream, (std::FILE * stream), stream)
PASS_ON(void, rewind, stream, (std::FILE * stream), stream)
PASS_READING(void, perror, stderr, call_reads_text(text, where), (const char* text), text)

// A stream's lock, and what the caller of those without one may do: by these, too, the stream
// changes in ways that nobody takes back. Its lock would stay taken.
SYNCOPATE_EXPORT void flockfile(std::FILE* stream) noexcept {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(flockfile)(stream);
  end_transaction("flockfile", where);
  lock_stream(stream, where);
}
SYNCOPATE_EXPORT int ftrylockfile(std::FILE* stream) noexcept {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(ftrylockfile)(stream);
  end_transaction("ftrylockfile", where);
  return try_lock_stream(stream, where) ? 0 : EBUSY;
}
SYNCOPATE_EXPORT void funlockfile(std::FILE* stream) noexcept {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(funlockfile)(stream);
  end_transaction("funlockfile", where);
  unlock_stream(stream, where);
}
PASS_READING(std::size_t, fwrite_unlocked, stream, call_reads(from, n* count, where),
             (const void* from, std::size_t n, std::size_t count, std::FILE* stream), from, n,
             count, stream)
TAKE_TO(std::size_t, fread_unlocked, call_wrote(to, got* n, where),
        (void* to, std::size_t n, std::size_t count, std::FILE* stream), stream, to, n, count,
        stream)
TAKE_TO(char*, fgets_unlocked, if (got != nullptr) wrote_text(to, where),
        (char* to, int n, std::FILE* stream), stream, to, n, stream)
PASS_READING(int, fputs_unlocked, stream, call_reads_text(text, where),
             (const char* text, std::FILE* stream), text, stream)
PASS_ON(int, fflush_unlocked, stream, (std::FILE * stream), stream)
TAKE(int, fgetc_unlocked, (std::FILE * stream), stream, stream)
TAKE(int, getc_unlocked, (std::FILE * stream), stream, stream)
TAKE(int, getchar_unlocked, (), stdin, )
PASS_ON(int, fputc_unlocked, stream, (int c, std::FILE* stream), c, stream)
PASS_ON(int, putc_unlocked, stream, (int c, std::FILE* stream), c, stream)
PASS_ON(int, putchar_unlocked, stdout, (int c), c)
TAKE(int, __uflow, (std::FILE * stream), stream, stream)                  // getc_unlocked inline,
PASS_ON(int, __overflow, stream, (std::FILE * stream, int c), stream, c)  // putc_unlocked inline

PASS_LIST(printf, vprintf, stdout, (const char* format, ...), format, format)
PASS_LIST(fprintf, vfprintf, stream, (std::FILE * stream, const char* format, ...), format, stream,
          format)

// scanf and its like, by each of the names that headers give them.
using scan_list = int(std::FILE*, const char*, std::va_list);
static int scan(std::FILE* stream, const char* name, const char* format, std::va_list list,
                syncopate::engine::place where) {
  static constinit scan_names names = SYNCOPATE_SCAN_NAMES(vfscanf);
  auto* const real = real_scan<scan_list>(names, name);
  if (!by_program(where)) return real(stream, format, list);
  end_transaction(name, where);
  call_reads_text(format, where);
  const stream_call held(stream, name, where);
  std::va_list written;
  va_copy(written, list);
  const int got = take(stream, name, where, [&] { return real(stream, format, list); });
  call_wrote_scanned(format, written, got, where);
  va_end(written);
  return got;
}
#define SCAN(name, own, stream, parameters, last)                          \
  SYNCOPATE_EXPORT int own parameters __asm__(name);                       \
  SYNCOPATE_EXPORT int own parameters {                                    \
    std::va_list list;                                                     \
    va_start(list, last);                                                  \
    const int result = scan(stream, name, format, list, SYNCOPATE_CALLER); \
    va_end(list);                                                          \
    return result;                                                         \
  }
#define SCAN_LIST(name, own, stream, parameters)     \
  SYNCOPATE_EXPORT int own parameters __asm__(name); \
  SYNCOPATE_EXPORT int own parameters { return scan(stream, name, format, list, SYNCOPATE_CALLER); }
#define SCANS(prefix, own)                                                                  \
  SCAN(prefix "scanf", own##scanf, stdin, (const char* format, ...), format)                \
  SCAN(prefix "fscanf", own##fscanf, stream, (std::FILE * stream, const char* format, ...), \
       format)                                                                              \
  SCAN_LIST(prefix "vscanf", own##vscanf, stdin, (const char* format, std::va_list list))   \
  SCAN_LIST(prefix "vfscanf", own##vfscanf, stream,                                         \
            (std::FILE * stream, const char* format, std::va_list list))
SCANS("", syncopate_)
SCANS("__isoc99_", syncopate_99_)
SCANS("__isoc23_", syncopate_23_)
