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

#include <cerrno>

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/file_waits.h"
#include "model/front/libc/libc_range.h"
#include "model/front/program/options.h"
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

template <class Call>
auto take(std::FILE* stream, const char* name, engine::place where, Call call) -> decltype(call()) {
  const int file = fileno_unlocked(stream);
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

template <class Call>
ssize_t put_all(int file, const void* from, std::size_t n, engine::place where, Call call) {
  test_cancel();
  end_transaction("write", where);
  const bool blocks = may_block(file);
  std::size_t done = 0;
  do {
    const ssize_t put = cooperate(file, POLLOUT, where, [&] {
      return call(static_cast<const char*>(from) + done, n - done);
    });
    if (put < 0) return done != 0 ? static_cast<ssize_t>(done) : put;
    done += static_cast<std::size_t>(put);
  } while (blocks && done < n);
  return static_cast<ssize_t>(done);
}

}  // namespace
}  // namespace syncopate::instrument

extern "C" ssize_t __read_chk(int, void*, std::size_t, std::size_t);
extern "C" ssize_t __recv_chk(int, void*, std::size_t, std::size_t, int);

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
// A call that may wait for a file: in the machine's time.
#define COOPERATE(type, name, events, parameters, file, ...)                   \
  SYNCOPATE_EXPORT type name parameters {                                      \
    const auto* const where = SYNCOPATE_CALLER;                                \
    if (!by_program(where)) return SYNCOPATE_REAL(name)(file, __VA_ARGS__);    \
    test_cancel();                                                             \
    end_transaction(#name, where);                                             \
    return cooperate(file, events, where,                                      \
                     [&] { return SYNCOPATE_REAL(name)(file, __VA_ARGS__); }); \
  }
// One that takes from a stream: where nothing of it is in memory, it waits for the file first. What
// it then takes may be more than has come: that is asked of the file without blocking where this
// program alone can send it, since it could not while this thread blocks.
#define TAKE(type, name, parameters, stream, ...)                                         \
  SYNCOPATE_EXPORT type name parameters {                                                 \
    const auto* const where = SYNCOPATE_CALLER;                                           \
    if (!by_program(where)) return SYNCOPATE_REAL(name)(__VA_ARGS__);                     \
    end_transaction(#name, where);                                                        \
    return take(stream, #name, where, [&] { return SYNCOPATE_REAL(name)(__VA_ARGS__); }); \
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

COOPERATE(ssize_t, read, POLLIN, (int file, void* to, std::size_t n), file, to, n)
COOPERATE(ssize_t, readv, POLLIN, (int file, const iovec* to, int n), file, to, n)
COOPERATE(ssize_t, recv, POLLIN, (int file, void* to, std::size_t n, int flags), file, to, n, flags)
COOPERATE(ssize_t, recvfrom, POLLIN,
          (int file, void* to, std::size_t n, int flags, sockaddr* from, socklen_t* bytes), file,
          to, n, flags, from, bytes)
COOPERATE(ssize_t, recvmsg, POLLIN, (int file, msghdr* to, int flags), file, to, flags)
COOPERATE(ssize_t, sendto, POLLOUT,
          (int file, const void* from, std::size_t n, int flags, const sockaddr* to,
           socklen_t bytes),
          file, from, n, flags, to, bytes)
COOPERATE(ssize_t, sendmsg, POLLOUT, (int file, const msghdr* from, int flags), file, from, flags)
COOPERATE(ssize_t, writev, POLLOUT, (int file, const iovec* from, int n), file, from, n)

// All of it, as one that blocks.
SYNCOPATE_EXPORT ssize_t write(int file, const void* from, std::size_t n) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(write)(file, from, n);
  return put_all(file, from, n, where, [&](const void* at, std::size_t left) {
    return SYNCOPATE_REAL(write)(file, at, left);
  });
}
SYNCOPATE_EXPORT ssize_t send(int file, const void* from, std::size_t n, int flags) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(send)(file, from, n, flags);
  return put_all(file, from, n, where, [&](const void* at, std::size_t left) {
    return SYNCOPATE_REAL(send)(file, at, left, flags);
  });
}
// What compilers make of these calls where they know how large the buffer is.
SYNCOPATE_EXPORT ssize_t __read_chk(int file, void* to, std::size_t n, std::size_t room) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where) || n > room) return SYNCOPATE_REAL(__read_chk)(file, to, n, room);
  test_cancel();
  end_transaction("read", where);
  return cooperate(file, POLLIN, where, [&] { return SYNCOPATE_REAL(read)(file, to, n); });
}
SYNCOPATE_EXPORT ssize_t __recv_chk(int file, void* to, std::size_t n, std::size_t room,
                                    int flags) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where) || n > room) return SYNCOPATE_REAL(__recv_chk)(file, to, n, room, flags);
  test_cancel();
  end_transaction("recv", where);
  return cooperate(file, POLLIN, where, [&] { return SYNCOPATE_REAL(recv)(file, to, n, flags); });
}

SYNCOPATE_EXPORT int close(int file) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(close)(file);
  test_cancel();
  end_transaction("close", where);
  order_call(file, POLLOUT, where);
  forget_file(file);
  const int result = SYNCOPATE_REAL(close)(file);
  files_changed(where);
  return result;
}
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
TAKE(std::size_t, fread, (void* to, std::size_t n, std::size_t count, std::FILE* stream), stream,
     to, n, count, stream)
TAKE(char*, fgets, (char* to, int n, std::FILE* stream), stream, to, n, stream)
PASS(int, vprintf, (const char* format, std::va_list list), format, list)
PASS(int, vfprintf, (std::FILE * stream, const char* format, std::va_list list), stream, format,
     list)
PASS(std::FILE*, fdopen, (int file, const char* mode), file, mode)
PASS(std::FILE*, freopen, (const char* path, const char* mode, std::FILE* stream), path, mode,
     stream)
TAKE(int, fgetc, (std::FILE * stream), stream, stream)
TAKE(int, getc, (std::FILE * stream), stream, stream)
TAKE(int, getchar, (), stdin, )
PASS(int, ungetc, (int c, std::FILE* stream), c, stream)
TAKE(ssize_t, getline, (char** to, std::size_t* n, std::FILE* stream), stream, to, n, stream)
TAKE(ssize_t, getdelim, (char** to, std::size_t* n, int end, std::FILE* stream), stream, to, n, end,
     stream)
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
TAKE(std::size_t, fread_unlocked, (void* to, std::size_t n, std::size_t count, std::FILE* stream),
     stream, to, n, count, stream)
TAKE(char*, fgets_unlocked, (char* to, int n, std::FILE* stream), stream, to, n, stream)
PASS(int, fputs_unlocked, (const char* text, std::FILE* stream), text, stream)
PASS(int, fflush_unlocked, (std::FILE * stream), stream)
TAKE(int, fgetc_unlocked, (std::FILE * stream), stream, stream)
TAKE(int, getc_unlocked, (std::FILE * stream), stream, stream)
TAKE(int, getchar_unlocked, (), stdin, )
PASS(int, fputc_unlocked, (int c, std::FILE* stream), c, stream)
PASS(int, putc_unlocked, (int c, std::FILE* stream), c, stream)
PASS(int, putchar_unlocked, (int c), c)
TAKE(int, __uflow, (std::FILE * stream), stream, stream)       // getc_unlocked inline,
PASS(int, __overflow, (std::FILE * stream, int c), stream, c)  // putc_unlocked inline

PASS_LIST(printf, vprintf, (const char* format, ...), format, format)
PASS_LIST(fprintf, vfprintf, (std::FILE * stream, const char* format, ...), format, stream, format)
