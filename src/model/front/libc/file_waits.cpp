#include "model/front/libc/file_waits.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/front/libc/libc_range.h"
#include "model/front/libc/loopback.h"
#include "model/front/libc/random_numbers.h"
#include "model/front/libc/signals.h"
#include "model/front/program/begun_files.h"
#include "model/front/program/library_state.h"
#include "model/front/program/options.h"
#include "model/front/pthread/cancel.h"

#include <syncopate/machine/system_call.h>

namespace syncopate::instrument {

namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t look_outside_ns = 1'000'000;  // of the machine's time
constexpr int outside_ms = 1;                         // of this computer's
constexpr int command_ms = 10'000;                    // of this computer's, for a command
constexpr int say_after_looks = 5000;

// One thread that waits for files; on its fiber's stack.
struct waiter {
  pollfd* files;
  nfds_t count;
  bool takes;  // waits to read or write itself, as opposed to poll() and epoll
  alignas(4) std::uint32_t woken = 0;
};

struct timer {
  int file, clock;
  timer_setting setting;
};

// On the heap of this library: the addresses of its variables are part of results.
struct files_state {
  std::vector<waiter*> waiters;
  std::vector<unsigned> own;  // by file: which of the program's pipes, from 1; 0: none
  unsigned pipes = 0;         // that it has made
  std::vector<timer> timers;
  std::vector<int> of_commands;
  bool has_child = false;
};
files_state& state() {
  static auto& all = *new files_state;
  return all;
}

int real_poll(pollfd* files, nfds_t count, int milliseconds) {
  const long result = machine::system_call(SYS_poll, reinterpret_cast<long>(files),
                                           static_cast<long>(count), milliseconds, 0, 0, 0);
  return static_cast<int>(result);  // negative: an error
}

// Which of the program's own pipes the file is an end of, or 0.
unsigned pipe_of(int file) {
  const std::vector<unsigned>& own = state().own;
  const auto index = static_cast<std::size_t>(file);
  return file >= 0 && index < own.size() ? own[index] : 0;
}

void set_pipe(int file, unsigned pipe) {
  std::vector<unsigned>& own = state().own;
  const auto index = static_cast<std::size_t>(file);
  if (own.size() <= index) own.resize(index + 1);
  own[index] = pipe;
}

// Whether somebody outside of the program may make one of the files ready.
bool is_from_outside(const pollfd* files, nfds_t count) {
  if (state().has_child) return true;
  return std::any_of(files, files + count,
                     [&](const pollfd& each) { return each.fd >= 0 && pipe_of(each.fd) == 0; });
}

// Of this computer's time, how long a look may take. The first costs none, but for a command's
// output; later ones do, where nothing has come since.
int patience(const pollfd* files, nfds_t count, bool outside, int looks) {
  const std::vector<int>& commands = state().of_commands;
  const auto is_commands = [&](const pollfd& each) {
    return (each.events & POLLIN) != 0 &&
           std::find(commands.begin(), commands.end(), each.fd) != commands.end();
  };
  if (looks == 0 && engine::runs_again() && std::any_of(files, files + count, is_commands))
    return command_ms;
  return outside && looks > 0 ? outside_ms : 0;
}

// Fills the timers whose time has come; returns when the next one's comes (0: never).
std::uint64_t run_timers(std::uint64_t now) {
  std::uint64_t next = 0;
  for (timer& each : state().timers) {
    timer_setting& t = each.setting;
    if (t.next != 0 && t.next <= now) {
      const std::uint64_t times = t.period != 0 ? 1 + (now - t.next) / t.period : 1;
      machine::system_call(SYS_write, each.file, reinterpret_cast<long>(&times), sizeof times, 0, 0,
                           0);
      t.next = t.period != 0 ? t.next + times * t.period : 0;
    }
    if (t.next != 0 && (next == 0 || t.next < next)) next = t.next;
  }
  return next;
}

machine::deadline at_time(std::uint64_t ns) {
  return {{static_cast<time_t>(ns / second), static_cast<long>(ns % second)}, CLOCK_MONOTONIC};
}

// A deadline in nanoseconds of the monotonic clock. (Both clocks of the machine run alike.)
std::uint64_t monotonic(const machine::deadline& until) {
  const std::uint64_t at = static_cast<std::uint64_t>(until.at.tv_sec) * second +
                           static_cast<std::uint64_t>(until.at.tv_nsec);
  if (until.clock == CLOCK_MONOTONIC) return at;
  const std::uint64_t now = engine::nanoseconds(until.clock);
  return engine::nanoseconds(CLOCK_MONOTONIC) + (at > now ? at - now : 0);
}

void sleep(waiter& me, std::uint64_t until, engine::place where) {
  files_state& all = state();
  me.woken = 0;
  all.waiters.push_back(&me);
  const machine::deadline deadline = at_time(until);
  engine::park(address_of(&me.woken), 0, until != 0 ? &deadline : nullptr, ~0u, where);
  all.waiters.erase(std::remove(all.waiters.begin(), all.waiters.end(), &me), all.waiters.end());
}

// They sleep until what was the next timer's time.
void wake_all(engine::place where) {
  const std::vector<waiter*> waiting = state().waiters;
  for (waiter* each : waiting) {
    const std::vector<waiter*>& still = state().waiters;
    if (std::find(still.begin(), still.end(), each) == still.end() || each->woken != 0) continue;
    each->woken = 1;
    engine::wake(address_of(&each->woken), 1, ~0u, where);
  }
}

std::uint64_t earlier(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || b == 0) return a + b;
  return std::min(a, b);
}

int wait(pollfd* files, nfds_t count, bool takes, const machine::deadline* until,
         engine::place where) {
  const engine_scope inside;
  const std::uint64_t end = until != nullptr ? std::max<std::uint64_t>(1, monotonic(*until)) : 0;
  waiter me{files, count, takes};
  const interruptions before = interruptions_so_far();
  for (int looks = 0;;) {
    const std::uint64_t now = engine::nanoseconds(CLOCK_MONOTONIC);
    const std::uint64_t timer = run_timers(now);
    const bool outside = is_from_outside(files, count);
    if (!takes)
      for (nfds_t i = 0; i < count; ++i) order_call(files[i].fd, POLLIN, where);
    const int ready = real_poll(files, count, patience(files, count, outside, looks));
    if (ready < 0 && ready != -EINTR) {
      errno = -ready;
      return -1;
    }
    if (ready > 0) return ready;
    if (end != 0 && now >= end) return 0;
    if (outside && ++looks == say_after_looks)
      complain("a thread has long waited for input or output from outside of the program");
    const std::uint64_t look = outside ? now + look_outside_ns : 0;
    sleep(me, earlier(earlier(end, timer), look), where);
    if (is_canceled() || (takes ? ended_without_restart(before) : ended_by_signal(before))) {
      errno = EINTR;
      return -1;
    }
    if (me.woken != 0) looks = 0;
  }
}

}  // namespace

int wait_for_files(pollfd* files, nfds_t count, const machine::deadline* until,
                   engine::place where) {
  test_cancel();
  for (nfds_t i = 0; i < count; ++i)
    if ((files[i].events & POLLIN) != 0) note_asked(files[i].fd, where);
  const int result = wait(files, count, false, until, where);
  test_cancel();
  return result;
}

// Of those that wait to take something from the same file, the first one: it says so when it is
// done, so that the next one takes what it has left.
void files_changed(engine::place where) {
  const engine_scope inside;
  files_state& all = state();
  if (all.waiters.empty()) return;
  const std::vector<waiter*> waiting = all.waiters;
  std::vector<int> taken;
  for (waiter* each : waiting) {
    // It may have gone on meanwhile: waking others takes time.
    if (std::find(all.waiters.begin(), all.waiters.end(), each) == all.waiters.end()) continue;
    if (each->takes && std::find(taken.begin(), taken.end(), each->files[0].fd) != taken.end())
      continue;
    if (each->woken == 0 && real_poll(each->files, each->count, 0) == 0) continue;
    if (each->takes) taken.push_back(each->files[0].fd);
    if (each->woken != 0) continue;
    each->woken = 1;
    engine::wake(address_of(&each->woken), 1, ~0u, where);
  }
}

void note_own_files(int file, int other) {
  const engine_scope inside;
  files_state& all = state();
  if (file < 0) return;
  ++all.pipes;
  for (const int each : {file, other})
    if (each >= 0) set_pipe(each, all.pipes);
}

void note_same_file(int file, int as) {
  const engine_scope inside;
  if (const unsigned pipe = pipe_of(as); pipe != 0) set_pipe(file, pipe);
}

void charge_call(int file, call_kind kind, engine::place where) {
  const engine_scope inside;
  engine::system_call(kind == call_kind::transfers && is_tcp(file), where);
}

void order_call(int file, short events, engine::place where) {
  const engine_scope inside;
  // No variable has the number's address.
  if (const unsigned pipe = pipe_of(file); pipe != 0)
    engine::claim_order(
        pipe, 0, (events & POLLIN) != 0 ? engine::claim::acquire : engine::claim::release, where);
}

bool is_own_file(int file) {
  const pollfd one{file, POLLIN, 0};
  return !is_from_outside(&one, 1);
}

void forget_file(int file) {
  const engine_scope inside;
  files_state& all = state();
  if (pipe_of(file) != 0) all.own[static_cast<std::size_t>(file)] = 0;
  std::erase_if(all.timers, [&](const timer& each) { return each.file == file; });
  std::erase(all.of_commands, file);
}

void forget_closed(int file, engine::place where) {
  if (file < 0) return;
  note_replaced(file, where);
  forget_file(file);
  forget_random_file(file);
  note_closed(file);
}

void note_command(int file) {
  const engine_scope inside;
  state().of_commands.push_back(file);
}

void forget_file_waits() {
  const engine_scope inside;
  files_state& all = state();
  all.waiters.clear();
  for (std::size_t file = 0; file < all.own.size(); ++file)
    if (all.own[file] != 0) machine::system_call(SYS_close, static_cast<long>(file), 0, 0, 0, 0, 0);
  all.own.clear();
  all.pipes = 0;
  all.timers.clear();
  all.of_commands.clear();
}

void note_child() {
  const engine_scope inside;
  state().has_child = true;
}

void note_timer(int file, int clock) {
  forget_file(file);
  note_own_files(file);
  const engine_scope inside;
  state().timers.push_back({file, clock, {}});
}

bool is_timer(int file) {
  const engine_scope inside;
  const std::vector<timer>& timers = state().timers;
  return std::any_of(timers.begin(), timers.end(),
                     [&](const timer& each) { return each.file == file; });
}

int clock_of_timer(int file) {
  const engine_scope inside;
  for (const timer& each : state().timers)
    if (each.file == file) return each.clock;
  return CLOCK_MONOTONIC;
}

timer_setting set_timer(int file, timer_setting to, engine::place where) {
  const engine_scope inside;
  run_timers(engine::nanoseconds(CLOCK_MONOTONIC));
  for (timer& each : state().timers)
    if (each.file == file) {
      std::uint64_t unread = 0;  // what has come before counts no more
      const detail::without_blocking now(file);
      machine::system_call(SYS_read, file, reinterpret_cast<long>(&unread), sizeof unread, 0, 0, 0);
      const timer_setting before = std::exchange(each.setting, to);
      wake_all(where);
      return before;
    }
  return {};
}

timer_setting timer_of(int file) {
  const engine_scope inside;
  run_timers(engine::nanoseconds(CLOCK_MONOTONIC));
  for (const timer& each : state().timers)
    if (each.file == file) return each.setting;
  return {};
}

bool may_block(int file) {
  const engine_scope inside;
  struct stat about {};
  if (fstat(file, &about) != 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) ||
      S_ISBLK(about.st_mode))
    return false;
  if (is_timer(file)) run_timers(engine::nanoseconds(CLOCK_MONOTONIC));
  const int flags = ::fcntl(file, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

namespace detail {

without_blocking::without_blocking(int file) : file_(file), flags_(::fcntl(file, F_GETFL)) {
  if (flags_ >= 0) ::fcntl(file_, F_SETFL, flags_ | O_NONBLOCK);
}
without_blocking::~without_blocking() {
  const int before = errno;
  if (flags_ >= 0) ::fcntl(file_, F_SETFL, flags_);
  errno = before;
}

bool wait_for_file(int file, short events, engine::place where) {
  pollfd one{file, events, 0};
  timeval limit{};
  socklen_t bytes = sizeof limit;
  const int which = (events & POLLOUT) != 0 ? SO_SNDTIMEO : SO_RCVTIMEO;
  const bool timed = ::getsockopt(file, SOL_SOCKET, which, &limit, &bytes) == 0 &&
                     (limit.tv_sec != 0 || limit.tv_usec != 0);
  machine::deadline until{};
  if (timed) {
    const engine_scope inside;
    until = at_time(engine::nanoseconds(CLOCK_MONOTONIC) +
                    static_cast<std::uint64_t>(limit.tv_sec) * second +
                    static_cast<std::uint64_t>(limit.tv_usec) * 1000);
  }
  test_cancel();
  const int ready = wait(&one, 1, true, timed ? &until : nullptr, where);
  test_cancel();
  if (ready == 0) errno = EAGAIN;
  return ready > 0;
}

}  // namespace detail

}  // namespace syncopate::instrument
