// libc_output.cpp -- input and output by files' numbers. Inside hardware transactions: they end
// there, as no machine rolls back what the system has taken. Whoever watches critical sections is
// told; so is the machine, of the memory read and written. System calls are cancellation points,
// before they begin (POSIX has them so). Otherwise nothing is changed.

// The C library's headers define some of these inline.
#if !defined(__NO_INLINE__)
#define __NO_INLINE__ 1
#endif
#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/call_memory.h"
#include "model/front/libc/file_waits.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/loopback.h"
#include "model/front/libc/random_numbers.h"
#include "model/front/program/begun_files.h"
#include "model/front/program/options.h"
#include "model/front/pthread/cancel.h"

namespace syncopate::instrument {
namespace {

template <class Call>
ssize_t put_all(const char* name, int file, const void* from, std::size_t n, engine::place where,
                Call call) {
  test_cancel();
  end_transaction(name, where);
  charge_call(file, call_kind::transfers, where);
  call_reads(from, n, where);
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

std::size_t parts_of(int n) { return n > 0 ? static_cast<std::size_t>(n) : 0; }

}  // namespace
}  // namespace syncopate::instrument

extern "C" ssize_t __read_chk(int, void*, std::size_t, std::size_t);
extern "C" ssize_t __recv_chk(int, void*, std::size_t, std::size_t, int);

using namespace syncopate::instrument;

#define PASS_OR_LEAVE(type, name, parameters, ...)   \
  SYNCOPATE_EXPORT type name parameters {            \
    if (by_program(SYNCOPATE_CALLER)) test_cancel(); \
    end_transaction(#name, SYNCOPATE_CALLER);        \
    return SYNCOPATE_REAL(name)(__VA_ARGS__);        \
  }
// A call that may wait for a file: in the machine's time. `before` and `behind`: what is announced
// of memory, the one of what is put, the other of what has come, `got` bytes.
#define COOPERATE(name, events, before, behind, parameters, file, ...)                           \
  SYNCOPATE_EXPORT ssize_t name parameters {                                                     \
    const auto* const where = SYNCOPATE_CALLER;                                                  \
    if (!by_program(where)) return SYNCOPATE_REAL(name)(file, __VA_ARGS__);                      \
    test_cancel();                                                                               \
    end_transaction(#name, where);                                                               \
    charge_call(file, call_kind::transfers, where);                                              \
    if ((events) == POLLIN) note_asked(file, where);                                             \
    before;                                                                                      \
    const ssize_t result =                                                                       \
        cooperate(file, events, where, [&] { return SYNCOPATE_REAL(name)(file, __VA_ARGS__); }); \
    const std::size_t got = result > 0 ? static_cast<std::size_t>(result) : 0;                   \
    if (got != 0) behind;                                                                        \
    return result;                                                                               \
  }
#define TAKE_INTO(name, behind, parameters, file, ...) \
  COOPERATE(name, POLLIN, (void)0, behind, parameters, file, __VA_ARGS__)
#define PUT(name, before, parameters, file, ...) \
  COOPERATE(name, POLLOUT, before, (void)0, parameters, file, __VA_ARGS__)
SYNCOPATE_EXPORT ssize_t read(int file, void* to, std::size_t n) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(read)(file, to, n);
  test_cancel();
  end_transaction("read", where);
  charge_call(file, call_kind::transfers, where);
  note_asked(file, where);
  ssize_t result = static_cast<ssize_t>(n);
  if (is_random_file(file)) fill_randomly(to, n);
  else result = cooperate(file, POLLIN, where, [&] { return SYNCOPATE_REAL(read)(file, to, n); });
  if (result > 0) call_wrote(to, static_cast<std::size_t>(result), where);
  return result;
}
TAKE_INTO(readv, call_wrote_parts(to, parts_of(n), got, where), (int file, const iovec* to, int n),
          file, to, n)
TAKE_INTO(recv, call_wrote(to, got, where), (int file, void* to, std::size_t n, int flags), file,
          to, n, flags)
// Who has sent it, and how long that name is.
static void wrote_sender(const void* from, const socklen_t* bytes, syncopate::engine::place where) {
  if (from == nullptr || bytes == nullptr) return;
  call_wrote(bytes, sizeof *bytes, where);
  call_wrote(from, *bytes, where);
}
static void wrote_message(const msghdr* to, std::size_t got, syncopate::engine::place where) {
  call_wrote_parts(to->msg_iov, to->msg_iovlen, got, where);
  call_wrote(&to->msg_flags, sizeof to->msg_flags, where);
  call_wrote(&to->msg_controllen, sizeof to->msg_controllen, where);
  call_wrote(to->msg_control, to->msg_controllen, where);
  if (to->msg_name != nullptr) call_wrote(&to->msg_namelen, sizeof to->msg_namelen, where);
  call_wrote(to->msg_name, to->msg_namelen, where);
}
TAKE_INTO(recvfrom, (call_wrote(to, got, where), wrote_sender(from, bytes, where)),
          (int file, void* to, std::size_t n, int flags, sockaddr* from, socklen_t* bytes), file,
          to, n, flags, address_for(file, from), bytes)
TAKE_INTO(recvmsg, wrote_message(to, got, where), (int file, msghdr* to, int flags), file,
          message_for(file, to).get(), flags)
PUT(sendto, call_reads(from, n, where),
    (int file, const void* from, std::size_t n, int flags, const sockaddr* to, socklen_t bytes),
    file, from, n, flags, address_for(file, to), bytes)
PUT(sendmsg, call_reads_parts(from->msg_iov, from->msg_iovlen, where),
    (int file, const msghdr* from, int flags), file, message_for(file, *from).get(), flags)
PUT(writev, call_reads_parts(from, parts_of(n), where), (int file, const iovec* from, int n), file,
    from, n)

// All of it, as one that blocks.
SYNCOPATE_EXPORT ssize_t write(int file, const void* from, std::size_t n) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(write)(file, from, n);
  return put_all("write", file, from, n, where, [&](const void* at, std::size_t left) {
    return SYNCOPATE_REAL(write)(file, at, left);
  });
}
SYNCOPATE_EXPORT ssize_t send(int file, const void* from, std::size_t n, int flags) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(send)(file, from, n, flags);
  return put_all("send", file, from, n, where, [&](const void* at, std::size_t left) {
    return SYNCOPATE_REAL(send)(file, at, left, flags);
  });
}
// A format for a file, without a stream.
static int put_format(int file, const char* format, std::va_list list, const char* name,
                      syncopate::engine::place where) {
  auto* const real = SYNCOPATE_REAL(vdprintf);
  if (!by_program(where)) return real(file, format, list);
  test_cancel();
  end_transaction(name, where);
  charge_call(file, call_kind::transfers, where);
  call_reads_format(format, list, where);
  return cooperate(file, POLLOUT, where, [&] {
    std::va_list again;
    va_copy(again, list);
    const int put = real(file, format, again);
    va_end(again);
    return put;
  });
}
SYNCOPATE_EXPORT int vdprintf(int file, const char* format, std::va_list list) {
  return put_format(file, format, list, "vdprintf", SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int dprintf(int file, const char* format, ...) {
  std::va_list list;
  va_start(list, format);
  const int put = put_format(file, format, list, "dprintf", SYNCOPATE_CALLER);
  va_end(list);
  return put;
}

// What compilers make of these calls where they know how large the buffer is.
TAKE_INTO(__read_chk, call_wrote(to, got, where),
          (int file, void* to, std::size_t n, std::size_t room), file, to, n, room)
TAKE_INTO(__recv_chk, call_wrote(to, got, where),
          (int file, void* to, std::size_t n, std::size_t room, int flags), file, to, n, room,
          flags)

// Of plain files, which nobody waits for.
#define AT_OFFSET(name, before, behind, parameters, ...)                       \
  SYNCOPATE_EXPORT ssize_t name parameters {                                   \
    const auto* const where = SYNCOPATE_CALLER;                                \
    if (!by_program(where)) return SYNCOPATE_REAL(name)(__VA_ARGS__);          \
    test_cancel();                                                             \
    end_transaction(#name, where);                                             \
    charge_call(file, call_kind::asks, where);                                 \
    before;                                                                    \
    const ssize_t result = SYNCOPATE_REAL(name)(__VA_ARGS__);                  \
    const std::size_t got = result > 0 ? static_cast<std::size_t>(result) : 0; \
    if (got != 0) behind;                                                      \
    return result;                                                             \
  }
AT_OFFSET(pread, (void)0, call_wrote(to, got, where), (int file, void* to, std::size_t n, off_t at),
          file, to, n, at)
AT_OFFSET(pread64, (void)0, call_wrote(to, got, where),
          (int file, void* to, std::size_t n, off64_t at), file, to, n, at)
AT_OFFSET(pwrite, call_reads(from, n, where), (void)0,
          (int file, const void* from, std::size_t n, off_t at), file, from, n, at)
AT_OFFSET(pwrite64, call_reads(from, n, where), (void)0,
          (int file, const void* from, std::size_t n, off64_t at), file, from, n, at)

SYNCOPATE_EXPORT int close(int file) {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(close)(file);
  test_cancel();
  end_transaction("close", where);
  charge_call(file, call_kind::asks, where);
  order_call(file, POLLOUT, where);
  forget_closed(file, where);
  const int result = SYNCOPATE_REAL(close)(file);
  files_changed(where);
  return result;
}
PASS_OR_LEAVE(int, fsync, (int file), file)
PASS_OR_LEAVE(int, fdatasync, (int file), file)
