// libc_output.cpp -- input and output. Inside hardware transactions: they end there, as no
// machine rolls back what the C library's streams or the system have taken. Whoever watches
// critical sections is told. System calls are cancellation points, before they begin (POSIX has
// them so; streams may be, and are none). Otherwise nothing is changed.

// The C library's headers define some of these inline.
#if !defined(__NO_INLINE__)
#define __NO_INLINE__ 1
#endif
#include <cstdarg>
#include <cstdio>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/libc_range.h"
#include "model/front/pthread/cancel.h"

namespace syncopate::instrument {
namespace {

void end_transaction(const char* function, engine::place where) {
  if (!by_program(where)) return;
  section_called(function, where);
  if (!in_transaction()) return;
  const engine_scope inside;
  engine::htm_unfriendly(where);
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

#define PASS(type, name, parameters, ...)     \
  SYNCOPATE_EXPORT type name parameters {     \
    end_transaction(#name, SYNCOPATE_CALLER); \
    return SYNCOPATE_REAL(name)(__VA_ARGS__); \
  }
#define PASS_OR_LEAVE(type, name, parameters, ...)   \
  SYNCOPATE_EXPORT type name parameters {            \
    if (by_program(SYNCOPATE_CALLER)) test_cancel(); \
    end_transaction(#name, SYNCOPATE_CALLER);        \
    return SYNCOPATE_REAL(name)(__VA_ARGS__);        \
  }
// Functions with `...`, by those of theirs that take the list.
#define PASS_LIST(name, list_name, parameters, last, ...)            \
  SYNCOPATE_EXPORT int name parameters {                             \
    end_transaction(#name, SYNCOPATE_CALLER);                        \
    std::va_list list;                                               \
    va_start(list, last);                                            \
    const int result = SYNCOPATE_REAL(list_name)(__VA_ARGS__, list); \
    va_end(list);                                                    \
    return result;                                                   \
  }

PASS_OR_LEAVE(ssize_t, read, (int file, void* to, std::size_t n), file, to, n)
PASS_OR_LEAVE(ssize_t, write, (int file, const void* from, std::size_t n), file, from, n)
PASS_OR_LEAVE(int, close, (int file), file)
PASS_OR_LEAVE(ssize_t, readv, (int file, const iovec* to, int n), file, to, n)
PASS_OR_LEAVE(ssize_t, writev, (int file, const iovec* from, int n), file, from, n)
PASS_OR_LEAVE(ssize_t, recv, (int file, void* to, std::size_t n, int flags), file, to, n, flags)
PASS_OR_LEAVE(ssize_t, send, (int file, const void* from, std::size_t n, int flags), file, from, n,
              flags)
PASS_OR_LEAVE(ssize_t, recvmsg, (int file, msghdr* to, int flags), file, to, flags)
PASS_OR_LEAVE(ssize_t, sendmsg, (int file, const msghdr* from, int flags), file, from, flags)
PASS_OR_LEAVE(int, fsync, (int file), file)
PASS_OR_LEAVE(int, fdatasync, (int file), file)
PASS(std::FILE*, fopen, (const char* path, const char* mode), path, mode)
PASS(int, fclose, (std::FILE * stream), stream)
PASS(int, fputs, (const char* text, std::FILE* stream), text, stream)
PASS(int, puts, (const char* text), text)
PASS(int, putchar, (int c), c)
PASS(int, putc, (int c, std::FILE* stream), c, stream)
PASS(int, fputc, (int c, std::FILE* stream), c, stream)
PASS(int, fflush, (std::FILE * stream), stream)
PASS(std::size_t, fwrite, (const void* from, std::size_t n, std::size_t count, std::FILE* stream),
     from, n, count, stream)
PASS(std::size_t, fread, (void* to, std::size_t n, std::size_t count, std::FILE* stream), to, n,
     count, stream)
PASS(char*, fgets, (char* to, int n, std::FILE* stream), to, n, stream)
PASS(int, vprintf, (const char* format, std::va_list list), format, list)
PASS(int, vfprintf, (std::FILE * stream, const char* format, std::va_list list), stream, format,
     list)
PASS(std::FILE*, fdopen, (int file, const char* mode), file, mode)
PASS(std::FILE*, freopen, (const char* path, const char* mode, std::FILE* stream), path, mode,
     stream)
PASS(int, fgetc, (std::FILE * stream), stream)
PASS(int, getc, (std::FILE * stream), stream)
PASS(int, getchar, (), )
PASS(int, ungetc, (int c, std::FILE* stream), c, stream)
PASS(ssize_t, getline, (char** to, std::size_t* n, std::FILE* stream), to, n, stream)
PASS(ssize_t, getdelim, (char** to, std::size_t* n, int end, std::FILE* stream), to, n, end, stream)
PASS(int, setvbuf, (std::FILE * stream, char* buffer, int mode, std::size_t n), stream, buffer,
     mode, n)
PASS(int, fseek, (std::FILE * stream, long offset, int from), stream, offset, from)
PASS(long, ftell, (std::FILE * stream), stream)
PASS(void, rewind, (std::FILE * stream), stream)
PASS(void, perror, (const char* text), text)

// A stream's lock, and what the caller of those without one may do: by these, too, the stream
// changes in ways that nobody takes back. Its lock would stay taken.
PASS(void, flockfile, (std::FILE * stream), stream)
PASS(int, ftrylockfile, (std::FILE * stream), stream)
PASS(void, funlockfile, (std::FILE * stream), stream)
PASS(std::size_t, fwrite_unlocked,
     (const void* from, std::size_t n, std::size_t count, std::FILE* stream), from, n, count,
     stream)
PASS(std::size_t, fread_unlocked, (void* to, std::size_t n, std::size_t count, std::FILE* stream),
     to, n, count, stream)
PASS(char*, fgets_unlocked, (char* to, int n, std::FILE* stream), to, n, stream)
PASS(int, fputs_unlocked, (const char* text, std::FILE* stream), text, stream)
PASS(int, fflush_unlocked, (std::FILE * stream), stream)
PASS(int, fgetc_unlocked, (std::FILE * stream), stream)
PASS(int, getc_unlocked, (std::FILE * stream), stream)
PASS(int, getchar_unlocked, (), )
PASS(int, fputc_unlocked, (int c, std::FILE* stream), c, stream)
PASS(int, putc_unlocked, (int c, std::FILE* stream), c, stream)
PASS(int, putchar_unlocked, (int c), c)
PASS(int, __uflow, (std::FILE * stream), stream)               // getc_unlocked inline,
PASS(int, __overflow, (std::FILE * stream, int c), stream, c)  // putc_unlocked inline

PASS_LIST(printf, vprintf, (const char* format, ...), format, format)
PASS_LIST(fprintf, vfprintf, (std::FILE * stream, const char* format, ...), format, stream, format)
