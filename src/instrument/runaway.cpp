#include "instrument/runaway.h"

#include <csignal>
#include <ctime>

#include "instrument/arch.h"
#include "instrument/libc_range.h"
#include "instrument/scope.h"

namespace syncopate::instrument {

namespace {

constinit runaway_watch watch{};
constinit std::uint64_t most_seconds = 0, seconds = 0, seen_before = 0;

// For a report, which reads debug information; a fiber's own stack may be small.
alignas(16) char handler_stack[256 * 1024];

// Once in a second of processor time.
void look(int, siginfo_t*, void* context) {
  const std::uint64_t now = in_program() ? watch.seen() : 0;
  if (now == 0 || now != seen_before) {
    seen_before = now;
    seconds = 0;
    return;
  }
  if (++seconds < most_seconds) return;
  // A place is what a call returns to: one behind the instruction.
  const auto where = reinterpret_cast<engine::place>(interrupted_pc(context) + 1);
  machine_depth = 1;  // as in any call of the engine
  watch.stop(where, !from_libc(where));
}

}  // namespace

void watch_for_runaway(std::uint64_t most, const runaway_watch& by) {
  watch = by;
  most_seconds = most != 0 ? most : 1;
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  if (sigaltstack(&stack, nullptr) != 0) return;
  struct sigaction action {};
  action.sa_sigaction = look;
  // Not blocked while it is handled: stop() leaves for another stack.
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER);
  if (sigaction(SIGURG, &action, nullptr) != 0) return;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGURG;
  timer_t timer{};
  if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) return;
  const itimerspec every{{1, 0}, {1, 0}};
  timer_settime(timer, 0, &every, nullptr);
}

}  // namespace syncopate::instrument
