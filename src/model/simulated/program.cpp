// program.cpp -- engine.h's program and threads, on the simulated machine.
#include "faults.h"
#include "model/simulated/kernel/describe_threads.h"
#include "model/simulated/report/sections.h"
#include "world.h"

#include <cinttypes>
#include <csignal>
#include <cstdio>

#include <unistd.h>

#include "model/front/engine.h"
#include "model/front/libc/native_time.h"
#include "model/front/names/names.h"
#include "model/front/program/options.h"
#include "model/front/program/report_output.h"
#include "model/front/program/runaway.h"
#include "model/front/scope.h"

namespace syncopate::engine {

using namespace simulated;

namespace {

// What making a thread costs its maker beside a system call: mapping a stack and the kernel's own
// work; some four times a context switch.
constexpr unsigned spawn_switches = 4;

void end_run(world& w, int status) {
  thread& me = w.schedule.caller();
  if (instrument::native_charge != 0) charge_native(w, me);
  me.signaled = false;
  w.schedule.settle(me);
  w.finished = true;
  w.exit_status = status;
  w.ended_at = clock_outside = me.clock;
  w.schedule.leave_machine();
}

void run_main(void* program) {
  const int status = reinterpret_cast<int (*)()>(program)();
  end_run(*the_world, status);
}

thread& make_thread(world& w, void (*entry)(void*), void* argument, std::size_t stack_bytes) {
  thread& t = w.schedule.add_thread(entry, argument, stack_bytes);
  const auto stack = instrument::stack_of(t.body), tls = instrument::tls_of(t.body);
  instrument::note_thread(t.index, stack.low, stack.high, tls.low, tls.high);
  return t;
}

// SYNCOPATE_FOREIGN_LOAD threads of other programs.
void add_foreign_load(world& w) {
  constexpr std::uint64_t most_threads = 10'000, most_microseconds = 10'000'000;
  const auto threads = instrument::option_number("FOREIGN_LOAD", 0, most_threads);
  if (threads == 0) return;
  const cycles per_microsecond = w.machine.topology.frequency_hz / 1'000'000;
  const cycles busy = instrument::option_number("FOREIGN_BUSY", 4000, most_microseconds);
  const cycles rest = instrument::option_number("FOREIGN_REST", 4000, most_microseconds);
  w.schedule.add_foreign_load(static_cast<unsigned>(threads), busy * per_microsecond,
                              rest * per_microsecond);
}

std::uint64_t seen_of_program() {
  const thread& me = the_world->schedule.running();
  return 1 + me.accesses + me.clock;
}

void stop_runaway(place where, bool may_report) {
  instrument::complain(
      "the simulated program was stopped: over the limit of seconds of processor time without any "
      "access to memory (SYNCOPATE_LIMIT)");
  if (!may_report) {
    instrument::complain("  in %s", instrument::code_name(where).c_str());
    ::_exit(1);
  }
  describe_threads(*the_world);
  stop_run(*the_world, 1);
}

// What took no simulated time, or was charged as measured: where that was much of the program.
void say_unseen(const statistics& all) {
  constexpr double least_seconds = 0.02, least_share = 0.2;
  const instrument::native_time& time = all.unseen;
  const double seconds = time.not_seen();
  if (all.native_cycles != 0) {
    instrument::complain(
        "%.3f ms were native code of libraries, charged as measured: results differ from run to "
        "run",
        1e3 * static_cast<double>(all.native_cycles) / all.hertz);
    return;
  }
  if (seconds < least_seconds || seconds < least_share * (seconds + time.program)) return;
  instrument::complain(
      "%.0f %% of the program's own processor time, %.0f ms, passed in code that was not compiled "
      "for"
      " this machine (mostly %s): it took no simulated time. SYNCOPATE_CHARGE_NATIVE=1 charges it",
      100 * seconds / (seconds + time.program), 1e3 * seconds, time.libraries.front().name.c_str());
}

// Where a report that was asked for is not written, the run has failed.
void say_and_report(world& w) {
  w.schedule.close_accounts(w.ended_at);
  const statistics all = w.gather.results(w.ended_at);
  if (report::show_standard_error() && !instrument::option_enabled("QUIET")) {
    ::dprintf(STDERR_FILENO, "simulated time: %.9f s (machine %s)\n", all.seconds(),
              all.machine.c_str());
    say_unseen(all);
  }
  const bool written = simulated::report == nullptr || simulated::report(all);
  if ((!report_sections() || !written) && w.exit_status == 0) w.exit_status = 1;
}

}  // namespace

int run(int (*program)()) {
  report::keep_standard_error();
  the_world = new world(the_machine());
  world& w = *the_world;
  struct sigaction action {};
  action.sa_handler = &scheduler::on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second Ctrl-C ends the process at once
  sigaction(SIGINT, &action, nullptr);
  abort_where_transactions_fault();

  thread& main = make_thread(w, &run_main, reinterpret_cast<void*>(program), 0);
  main.counted.begin = main.since = main.clock = clock_outside;
  add_foreign_load(w);
  watch_sections(w.machine);
  instrument::watch_for_runaway(w.schedule.limit_seconds(), {seen_of_program, stop_runaway});
  w.schedule.run(main);
  say_and_report(w);
  return w.exit_status;
}

void finish(end, int status, const char* message, place) {
  world& w = *the_world;
  if (message != nullptr) std::fprintf(stderr, "%s\n", message);
  end_run(w, status);
  __builtin_unreachable();
}

unsigned spawn(void (*entry)(void*), void* argument, std::size_t stack_bytes, place where) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  if (me.in_transaction) w.htm.abort(me, {abort_cause::unfriendly, 0, where});
  w.schedule.set_activity(me, activity::kernel);
  ++me.counted.system_calls;
  me.clock += w.machine.os.syscall_cycles + spawn_switches * w.machine.os.context_switch_cycles;
  w.schedule.settle(me);
  thread& t = make_thread(w, entry, argument, stack_bytes);
  t.processor = me.processor;
  t.affinity = me.affinity;
  t.counted.entry = reinterpret_cast<const void*>(entry);
  t.counted.made_at = where;
  t.counted.begin = t.since = t.clock = me.clock;
  w.schedule.make_ready(t, me.clock);
  w.schedule.set_activity(me, activity::running);
  return t.index;
}

void thread_exit() {
  world& w = *the_world;
  w.schedule.end_thread(w.schedule.running());
}

unsigned current() {
  if (the_world == nullptr || !the_world->schedule.has_running()) return 0;
  return the_world->schedule.running().index;
}

void set_affinity(unsigned index, const unsigned char* mask, std::size_t bytes) {
  world& w = *the_world;
  thread& me = w.schedule.caller();
  auto& threads = w.schedule.threads();
  if (index >= threads.size()) return;
  std::vector<bool> allowed(w.machine.processors());
  bool any = false;
  for (unsigned p = 0; p < allowed.size() && p / 8 < bytes; ++p) {
    allowed[p] = (mask[p / 8] >> p % 8 & 1) != 0;
    any = any || allowed[p];
  }
  if (any) w.schedule.set_affinity(threads[index], std::move(allowed));
  w.schedule.settle(me);
}

}  // namespace syncopate::engine

// Operations done by the calling thread, for its throughput and the fairness factor in reports.
extern "C" [[gnu::visibility("default")]] void syncopate_mark(const char* name,
                                                              std::uint64_t count) {
  using namespace syncopate;
  const instrument::engine_scope inside;
  if (simulated::the_world == nullptr || !simulated::the_world->schedule.has_running()) return;
  simulated::world& w = *simulated::the_world;
  w.gather.mark(w.schedule.running(), name, count);
}
