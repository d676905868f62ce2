// libc_files.cpp -- calls that wait for pipes, sockets, events and timers: in the machine's time
// (file_waits.h). read, write and their like are in libc_output.cpp, streams in libc_streams.cpp.

#if !defined(__NO_INLINE__)
#define __NO_INLINE__ 1
#endif
#undef _FORTIFY_SOURCE
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/call_memory.h"
#include "model/front/libc/file_waits.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/loopback.h"
#include "model/front/libc/signals.h"
#include "model/front/program/library_state.h"

namespace syncopate::instrument {
namespace {

constexpr std::int64_t second = 1'000'000'000;

void begin_call(const char* name, engine::place where) {
  section_called(name, where);
  const engine_scope inside;
  if (in_transaction()) engine::htm_unfriendly(where);
  engine::system_call(false, where);
}

std::uint64_t now() {
  const engine_scope inside;
  return engine::nanoseconds(CLOCK_MONOTONIC);
}

machine::deadline after(std::int64_t ns) {
  const std::uint64_t at = now() + static_cast<std::uint64_t>(ns);
  return {{static_cast<time_t>(at / second), static_cast<long>(at % second)}, CLOCK_MONOTONIC};
}

// ns below 0: without a limit.
int wait_for(pollfd* files, nfds_t count, std::int64_t ns, engine::place where) {
  if (ns < 0) return wait_for_files(files, count, nullptr, where);
  const machine::deadline until = after(ns);
  return wait_for_files(files, count, &until, where);
}

// The same for the program, which looks into `files` itself.
int wait_for_listed(pollfd* files, nfds_t count, std::int64_t ns, engine::place where) {
  call_reads(files, count * sizeof *files, where);
  const int found = wait_for(files, count, ns, where);
  const int error = errno;
  for (nfds_t i = 0; i < count; ++i) call_wrote(&files[i].revents, sizeof files[i].revents, where);
  errno = error;
  return found;
}

std::int64_t nanoseconds(const timespec& t) { return t.tv_sec * second + t.tv_nsec; }

// Whether a signal that the mask lets in has come already: it ends the call.
class masked {
 public:
  explicit masked(const sigset_t* mask) : is_set_(mask != nullptr) {
    const interruptions so_far = interruptions_so_far();
    if (is_set_) pthread_sigmask(SIG_SETMASK, mask, &before_);
    has_ended_ = is_set_ && ended_by_signal(so_far);
  }
  ~masked() {
    const int error = errno;
    if (is_set_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  bool has_ended() const {
    if (has_ended_) errno = EINTR;
    return has_ended_;
  }
  masked(const masked&) = delete;
  masked& operator=(const masked&) = delete;

 private:
  sigset_t before_{};
  const bool is_set_;
  bool has_ended_ = false;
};

int select_files(int count, fd_set* readable, fd_set* writable, fd_set* other, std::int64_t ns,
                 engine::place where) {
  // On the stack: what a vector took from the program's heap would move the program's blocks.
  pollfd files[FD_SETSIZE];
  nfds_t used = 0;
  if (count < 0 || count > FD_SETSIZE) {
    errno = EINVAL;
    return -1;
  }
  for (int file = 0; file < count; ++file) {
    short events = 0;
    if (readable != nullptr && FD_ISSET(file, readable)) events |= POLLIN;
    if (writable != nullptr && FD_ISSET(file, writable)) events |= POLLOUT;
    if (other != nullptr && FD_ISSET(file, other)) events |= POLLPRI;
    if (events != 0) files[used++] = {file, events, 0};
  }
  if (wait_for(files, used, ns, where) < 0) return -1;
  int found = 0;
  for (nfds_t i = 0; i < used; ++i) {
    const pollfd& asked_for = files[i];
    if ((asked_for.revents & POLLNVAL) != 0) {
      errno = EBADF;
      return -1;
    }
    const auto keep = [&](fd_set* set, short asked, int bits) {
      if (set == nullptr || (asked_for.events & asked) == 0) return;
      if ((asked_for.revents & bits) != 0) ++found;
      else FD_CLR(asked_for.fd, set);
    };
    keep(readable, POLLIN, POLLIN | POLLHUP | POLLERR);
    keep(writable, POLLOUT, POLLOUT | POLLERR);
    keep(other, POLLPRI, POLLPRI);
  }
  for (fd_set* const each : {readable, writable, other})
    call_wrote(each, (static_cast<std::size_t>(count) + 7) / 8, where);
  return found;
}

// epoll tells what is ready, once something is; until then its own descriptor is not.
int wait_for_epoll(int file, epoll_event* events, int most, std::int64_t ns, engine::place where) {
  for (;;) {
    const int found = SYNCOPATE_REAL(epoll_wait)(file, events, most, 0);
    if (found > 0) call_wrote(events, std::size_t(found) * sizeof *events, where);
    if (found != 0 || ns == 0) return found;
    const std::uint64_t began = now();
    pollfd one{file, POLLIN, 0};
    const int ready = wait_for(&one, 1, ns, where);
    if (ready <= 0) return ready;
    if (ns > 0) ns = std::max<std::int64_t>(0, ns - static_cast<std::int64_t>(now() - began));
  }
}

int connect_waiting(int file, const sockaddr* to, socklen_t bytes, engine::place where) {
  int result;
  {
    const detail::without_blocking now(file);
    result = connect_socket(file, to, bytes);
  }
  files_changed(where);
  if (result == 0 || (errno != EINPROGRESS && errno != EAGAIN)) return result;
  while (errno == EAGAIN) {  // of a Unix socket, whose other side has no room in its queue
    timespec shortly{0, 10'000};
    nanosleep(&shortly, nullptr);
    const detail::without_blocking now(file);
    if (connect_socket(file, to, bytes) == 0) {
      files_changed(where);
      return 0;
    }
    if (errno != EAGAIN) return -1;
  }
  if (!detail::wait_for_file(file, POLLOUT, where)) return -1;
  socklen_t size = sizeof result;
  if (getsockopt(file, SOL_SOCKET, SO_ERROR, &result, &size) != 0) return -1;
  if (result == 0) return 0;
  errno = result;
  return -1;
}

timespec to_timespec(std::uint64_t ns) {
  return {static_cast<time_t>(ns / second), static_cast<long>(ns % second)};
}

// Of a time of the other clock; both run alike.
std::uint64_t to_monotonic(std::uint64_t real) {
  const engine_scope inside;
  const std::uint64_t passed = engine::nanoseconds(CLOCK_REALTIME);
  return engine::nanoseconds(CLOCK_MONOTONIC) + (real > passed ? real - passed : 0);
}

itimerspec to_spec(const timer_setting& t) {
  const std::uint64_t at = now();
  return {to_timespec(t.period),
          t.next != 0 ? to_timespec(t.next > at ? t.next - at : 1) : timespec{}};
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

#define UNLESS_PROGRAM(name, ...)                                   \
  const auto* const where = SYNCOPATE_CALLER;                       \
  if (!by_program(where)) return SYNCOPATE_REAL(name)(__VA_ARGS__); \
  begin_call(#name, where)

SYNCOPATE_EXPORT int poll(pollfd* files, nfds_t count, int milliseconds) {
  UNLESS_PROGRAM(poll, files, count, milliseconds);
  return wait_for_listed(files, count,
                         milliseconds < 0 ? -1 : std::int64_t{milliseconds} * 1'000'000, where);
}
SYNCOPATE_EXPORT int ppoll(pollfd* files, nfds_t count, const timespec* t, const sigset_t* mask) {
  UNLESS_PROGRAM(ppoll, files, count, t, mask);
  if (t != nullptr && (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= second)) {
    errno = EINVAL;
    return -1;
  }
  const masked now(mask);
  if (now.has_ended()) return -1;
  return wait_for_listed(files, count, t != nullptr ? nanoseconds(*t) : -1, where);
}
SYNCOPATE_EXPORT int select(int count, fd_set* readable, fd_set* writable, fd_set* other,
                            timeval* t) {
  UNLESS_PROGRAM(select, count, readable, writable, other, t);
  if (t == nullptr) return select_files(count, readable, writable, other, -1, where);
  if (t->tv_sec < 0 || t->tv_usec < 0) {
    errno = EINVAL;
    return -1;
  }
  const std::int64_t most = t->tv_sec * second + t->tv_usec * 1000;
  const std::uint64_t began = now();
  const int ready = select_files(count, readable, writable, other, most, where);
  const std::int64_t left =  // as Linux tells it
      std::max<std::int64_t>(most - static_cast<std::int64_t>(now() - began), 0);
  call_wrote(t, sizeof *t, where);
  *t = {left / second, left % second / 1000};
  return ready;
}
SYNCOPATE_EXPORT int pselect(int count, fd_set* readable, fd_set* writable, fd_set* other,
                             const timespec* t, const sigset_t* mask) {
  UNLESS_PROGRAM(pselect, count, readable, writable, other, t, mask);
  if (t != nullptr && (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= second)) {
    errno = EINVAL;
    return -1;
  }
  const masked now(mask);
  if (now.has_ended()) return -1;
  return select_files(count, readable, writable, other, t != nullptr ? nanoseconds(*t) : -1, where);
}

SYNCOPATE_EXPORT int epoll_wait(int file, epoll_event* events, int most, int milliseconds) {
  UNLESS_PROGRAM(epoll_wait, file, events, most, milliseconds);
  return wait_for_epoll(file, events, most,
                        milliseconds < 0 ? -1 : std::int64_t{milliseconds} * 1'000'000, where);
}
SYNCOPATE_EXPORT int epoll_pwait(int file, epoll_event* events, int most, int milliseconds,
                                 const sigset_t* mask) {
  UNLESS_PROGRAM(epoll_pwait, file, events, most, milliseconds, mask);
  const masked now(mask);
  if (now.has_ended()) return -1;
  return wait_for_epoll(file, events, most,
                        milliseconds < 0 ? -1 : std::int64_t{milliseconds} * 1'000'000, where);
}
SYNCOPATE_EXPORT int epoll_ctl(int file, int what, int of, epoll_event* event) noexcept {
  const auto* const where = SYNCOPATE_CALLER;
  if (by_program(where)) begin_call("epoll_ctl", where);
  const int result = SYNCOPATE_REAL(epoll_ctl)(file, what, of, event);
  if (result != 0 || !by_program(where)) return result;
  // From then on somebody outside of the program may make it ready.
  if (what == EPOLL_CTL_ADD && !is_own_file(of)) forget_file(file);
  files_changed(where);
  return result;
}
// Ready when a file is that it was told of.
SYNCOPATE_EXPORT int epoll_create(int size) noexcept {
  end_transaction("epoll_create", SYNCOPATE_CALLER);
  const int file = SYNCOPATE_REAL(epoll_create)(size);
  if (by_program(SYNCOPATE_CALLER) && !syncopate::engine::runs_again()) note_own_files(file);
  return note_opened(file, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int epoll_create1(int flags) noexcept {
  end_transaction("epoll_create1", SYNCOPATE_CALLER);
  const int file = SYNCOPATE_REAL(epoll_create1)(flags);
  if (by_program(SYNCOPATE_CALLER) && !syncopate::engine::runs_again()) note_own_files(file);
  return note_opened(file, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT int accept(int file, sockaddr* from, socklen_t* bytes) {
  UNLESS_PROGRAM(accept, file, from, bytes);
  const results_of_call told(where, bytes);
  const written_room room(where, from, bytes);
  return note_opened(
      cooperate(file, POLLIN, where, [&] { return accept_socket(file, from, bytes, 0); }), where);
}
SYNCOPATE_EXPORT int accept4(int file, sockaddr* from, socklen_t* bytes, int flags) {
  UNLESS_PROGRAM(accept4, file, from, bytes, flags);
  const results_of_call told(where, bytes);
  const written_room room(where, from, bytes);
  return note_opened(
      cooperate(file, POLLIN, where, [&] { return accept_socket(file, from, bytes, flags); }),
      where);
}
SYNCOPATE_EXPORT int connect(int file, const sockaddr* to, socklen_t bytes) {
  UNLESS_PROGRAM(connect, file, to, bytes);
  if (!may_block(file)) {
    const int result = connect_socket(file, to, bytes);
    files_changed(where);
    return result;
  }
  return connect_waiting(file, to, bytes, where);
}
SYNCOPATE_EXPORT int shutdown(int file, int how) noexcept {
  const auto* const where = SYNCOPATE_CALLER;
  if (by_program(where)) begin_call("shutdown", where);
  const int result = SYNCOPATE_REAL(shutdown)(file, how);
  if (result == 0 && by_program(where)) files_changed(where);
  return result;
}

// ---- the program's own files --------------------------------------------------------------------

#define NOTE_PAIR(ends, result)                             \
  if ((result) == 0 && by_program(SYNCOPATE_CALLER)) {      \
    note_own_files((ends)[0], (ends)[1]);                   \
    call_wrote(ends, 2 * sizeof *(ends), SYNCOPATE_CALLER); \
  }                                                         \
  return result

SYNCOPATE_EXPORT int pipe(int* ends) noexcept {
  end_transaction("pipe", SYNCOPATE_CALLER);
  const int result = SYNCOPATE_REAL(pipe)(ends);
  NOTE_PAIR(ends, result);
}
SYNCOPATE_EXPORT int pipe2(int* ends, int flags) noexcept {
  end_transaction("pipe2", SYNCOPATE_CALLER);
  const int result = SYNCOPATE_REAL(pipe2)(ends, flags);
  NOTE_PAIR(ends, result);
}
SYNCOPATE_EXPORT int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  end_transaction("socketpair", SYNCOPATE_CALLER);
  const int result = SYNCOPATE_REAL(socketpair)(domain, type, protocol, ends);
  NOTE_PAIR(ends, result);
}
SYNCOPATE_EXPORT int eventfd(unsigned count, int flags) noexcept {
  end_transaction("eventfd", SYNCOPATE_CALLER);
  const int file = SYNCOPATE_REAL(eventfd)(count, flags);
  if (by_program(SYNCOPATE_CALLER)) note_own_files(file);
  return file;
}
SYNCOPATE_EXPORT int eventfd_read(int file, eventfd_t* value) {
  const results_of_call told(SYNCOPATE_CALLER, value);
  UNLESS_PROGRAM(eventfd_read, file, value);
  const ssize_t result = cooperate(
      file, POLLIN, where, [&] { return SYNCOPATE_REAL(read)(file, value, sizeof *value); });
  return result == static_cast<ssize_t>(sizeof *value) ? 0 : -1;
}
SYNCOPATE_EXPORT int eventfd_write(int file, eventfd_t value) {
  UNLESS_PROGRAM(eventfd_write, file, value);
  const ssize_t result = cooperate(
      file, POLLOUT, where, [&] { return SYNCOPATE_REAL(write)(file, &value, sizeof value); });
  return result == static_cast<ssize_t>(sizeof value) ? 0 : -1;
}

// ---- timers -------------------------------------------------------------------------------------

SYNCOPATE_EXPORT int timerfd_create(clockid_t clock, int flags) noexcept {
  end_transaction("timerfd_create", SYNCOPATE_CALLER);
  if (!by_program(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(timerfd_create)(clock, flags);
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME && clock != CLOCK_BOOTTIME) {
    errno = EINVAL;
    return -1;
  }
  const int kept = ((flags & TFD_NONBLOCK) != 0 ? EFD_NONBLOCK : 0) |
                   ((flags & TFD_CLOEXEC) != 0 ? EFD_CLOEXEC : 0);
  const int file = SYNCOPATE_REAL(eventfd)(0, kept);
  if (file >= 0) note_timer(file, clock);
  return file;
}

SYNCOPATE_EXPORT int timerfd_settime(int file, int flags, const itimerspec* to,
                                     itimerspec* before) noexcept {
  end_transaction("timerfd_settime", SYNCOPATE_CALLER);
  const results_of_call told(SYNCOPATE_CALLER, before);
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where) || !is_timer(file))
    return SYNCOPATE_REAL(timerfd_settime)(file, flags, to, before);
  const std::int64_t first = nanoseconds(to->it_value);
  timer_setting setting;
  setting.period = static_cast<std::uint64_t>(nanoseconds(to->it_interval));
  if (first != 0) {
    setting.next = static_cast<std::uint64_t>(first);
    if ((flags & TFD_TIMER_ABSTIME) == 0) setting.next += now();
    else if (clock_of_timer(file) == CLOCK_REALTIME) setting.next = to_monotonic(setting.next);
  }
  const timer_setting was = set_timer(file, setting, where);
  if (before != nullptr) *before = to_spec(was);
  return 0;
}
SYNCOPATE_EXPORT int timerfd_gettime(int file, itimerspec* current) noexcept {
  end_transaction("timerfd_gettime", SYNCOPATE_CALLER);
  const results_of_call told(SYNCOPATE_CALLER, current);
  if (!by_program(SYNCOPATE_CALLER) || !is_timer(file))
    return SYNCOPATE_REAL(timerfd_gettime)(file, current);
  *current = to_spec(timer_of(file));
  return 0;
}
