// file_waits.h -- waiting for pipes, sockets and the like, in the machine's time.
//
// All threads are fibers of one OS thread: a call that blocks in the kernel would stop them all,
// also the one that it waits for. So a call that would block is tried without blocking, and its
// thread sleeps on the machine until a call of another thread has made the file ready. What comes
// from outside the program comes at no time of the machine's: whoever may wait for that looks once
// a millisecond of the machine, for at most a millisecond of this computer.
#pragma once

#include <cerrno>
#include <cstdint>

#include <poll.h>

#include "model/front/engine.h"

namespace syncopate::instrument {

// Waits until one of the files is ready, as poll() says it, or until the deadline (null: none).
// Returns what poll() does; -1 with errno.
// Requires: by_program(where); outside of an engine_scope.
int wait_for_files(pollfd* files, nfds_t count, const machine::deadline* until,
                   engine::place where);

// What entering the kernel for a call on the file costs; only some transfer data.
enum class call_kind : unsigned char { asks, transfers };
void charge_call(int file, call_kind, engine::place where);

// One file became ready, perhaps: a call on one of them is over. Wakes those who waited for it.
void files_changed(engine::place where);

// Files that only this program can make ready: the ends of its own pipe, or an eventfd (other: -1).
void note_own_files(int file, int other = -1);
bool is_own_file(int file);
// A call that takes something (POLLIN) from such a file, or puts something in, is about to be made.
// Calls of one pipe are in one order; who takes knows what those knew that have put in before.
void order_call(int file, short events, engine::place where);
void note_same_file(int file, int as);  // another number of it
void forget_file(int file);             // closed
// It is closed, or its number is another file's from now on: for whatever knows files by numbers.
void forget_closed(int file, engine::place where);
// A command of popen() is at its other end. Where the program runs several times, all its threads
// wait for it, in this computer's time: else what it finds would depend on how fast the command is.
void note_command(int file);
// No thread waits any more: the program begins again.
void forget_file_waits();
// Another process has them all from now on, too.
void note_child();

// A timerfd of the machine's time is an eventfd to the kernel, filled when its time comes.
struct timer_setting {
  std::uint64_t next = 0, period = 0;  // nanoseconds of the machine's monotonic clock; 0: none
};
void note_timer(int file, int clock);
bool is_timer(int file);
int clock_of_timer(int file);
timer_setting set_timer(int file, timer_setting, engine::place where);  // returns the one before
timer_setting timer_of(int file);

// Whether the file's calls are to be tried without blocking: not a plain one, which never blocks,
// nor one that the program has switched to that itself.
bool may_block(int file);

// Tries `call` (a lambda that calls the kernel) until it need not block.
template <class Call>
auto cooperate(int file, short events, engine::place where, Call call) -> decltype(call());

namespace detail {
// O_NONBLOCK, and back.
class without_blocking {
 public:
  explicit without_blocking(int file);
  ~without_blocking();
  without_blocking(const without_blocking&) = delete;
  without_blocking& operator=(const without_blocking&) = delete;

 private:
  int file_, flags_;
};
bool wait_for_file(int file, short events, engine::place where);  // false: errno says why not
}  // namespace detail

template <class Call>
auto cooperate(int file, short events, engine::place where, Call call) -> decltype(call()) {
  if (!may_block(file)) {
    order_call(file, events, where);
    const auto result = call();
    if (result >= 0) files_changed(where);
    return result;
  }
  for (;;) {
    order_call(file, events, where);
    decltype(call()) result;
    {
      const detail::without_blocking now(file);
      result = call();
    }
    if (result >= 0) files_changed(where);
    if (result >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return result;
    if (!detail::wait_for_file(file, events, where)) return -1;
  }
}

}  // namespace syncopate::instrument
