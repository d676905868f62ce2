#include "model/front/program/runaway.h"

#include <csignal>
#include <ctime>

#include "model/front/libc/libc_range.h"
#include "model/front/scope.h"
#include "model/front/threads/arch.h"

namespace syncopate::instrument {

namespace {

constinit runaway_watch watch{};
constinit std::uint64_t most_seconds = 0, seconds = 0, seen_before = 0;

// For a report, which reads debug information; a fiber's own stack may be small.
alignas(16) char handler_stack[256 * 1024];

// A place is what a call returns to: one behind the instruction.
engine::place place_of(const void* context) {
  return reinterpret_cast<engine::place>(interrupted_pc(context) + 1);
}

void stop_at(void* context) {
  const auto where = place_of(context);
  const bool may_report = in_program() && !from_libc(where);
  machine_depth = 1;  // as in any call of the engine
  watch.stop(where, may_report);
}

constexpr int is_deadline = 1;  // in a timer's value
constinit unsigned late = 0;    // half seconds that time is over, and nothing was seen
constinit std::uint64_t seen_late = 0;

void look_late(void* context) {
  const std::uint64_t now = watch.seen();
  late = time_is_over != 0 && now == seen_late ? late + 1 : 0;
  seen_late = now;
  time_is_over = 1;
  if (late >= (in_program() ? 2 : 20)) stop_at(context);
}

// Once in a second of processor time.
void look(int, siginfo_t* info, void* context) {
  if (info->si_value.sival_int == is_deadline) return look_late(context);
  if (watch.loops != nullptr && in_program() && jumps_to_itself(context)) {
    const engine_scope inside;
    watch.loops(place_of(context));
  }
  const std::uint64_t now = in_program() ? watch.seen() : 0;
  if (now == 0 || now != seen_before) {
    seen_before = now;
    seconds = 0;
    return;
  }
  if (++seconds >= most_seconds) stop_at(context);
}

void start_timer(clockid_t clock, int value, const itimerspec& when) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGURG;
  event.sigev_value.sival_int = value;
  timer_t timer{};
  if (timer_create(clock, &event, &timer) == 0) timer_settime(timer, 0, &when, nullptr);
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
  start_timer(CLOCK_PROCESS_CPUTIME_ID, 0, {{1, 0}, {1, 0}});
}

void watch_for_deadline(double after) {
  constexpr long half = 500'000'000;
  const auto whole = static_cast<time_t>(after);
  const auto rest = static_cast<long>((after - static_cast<double>(whole)) * 1e9);
  start_timer(CLOCK_MONOTONIC, is_deadline, {{0, half}, {whole, rest + 1}});
}

}  // namespace syncopate::instrument
