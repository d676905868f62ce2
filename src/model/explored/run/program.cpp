// program.cpp -- engine.h's run(): explores a whole program and reports.
//
// main() runs again and again in one process: before each execution the executable's variables,
// main's thread_local variables and the heap are put back as static constructors left them
// (model/front/program/program_image.h). Variables of uninstrumented libraries, and files, are not.
// The program's output is shown for the first execution and for the failing one, which is run once
// more for it if it is not the first; in between descriptors 1 and 2 lead to /dev/null.
#include "program.h"

#include "model/explored/report/report.h"

#include "model/front/engine.h"
#include "model/front/libc/signals.h"
#include "model/front/names/mappings.h"
#include "model/front/names/names.h"
#include "model/front/names/unseen.h"
#include "model/front/program/begun_files.h"
#include "model/front/program/options.h"
#include "model/front/program/program_image.h"
#include "model/front/program/runaway.h"
#include "model/front/program/whole_file.h"
#include "model/front/scope.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <stdio_ext.h>
#include <ucontext.h>
#include <unistd.h>

namespace syncopate::explored {

namespace {

// Descriptors 1 and 2, away and back again; one that is closed stays so.
class output {
 public:
  // Before the program can have closed them. Its own files have the numbers that they have.
  output() {
    for (int i = 0; i < 2; ++i) kept_[i] = high(i + 1);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    nowhere_ = high(nowhere);
    ::close(nowhere);
  }
  void show(bool shown) {
    std::fflush(stdout);
    std::fflush(stderr);
    for (int i = 0; i < 2; ++i)
      if (kept_[i] >= 0 && nowhere_ >= 0) ::dup2(shown ? kept_[i] : nowhere_, i + 1);
  }

 private:
  static int high(int file) {
    const int number = ::fcntl(file, F_DUPFD_CLOEXEC, 100);
    return number >= 0 ? number : ::fcntl(file, F_DUPFD_CLOEXEC, 3);  // few are allowed
  }
  int kept_[2];
  int nowhere_;
};

void say(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(STDERR_FILENO, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

// The C library's buffer of stdout must not lie in the program's heap, which goes back in time.
void give_stdout_a_buffer() {
  constexpr std::size_t bytes = 1 << 16;
  std::setvbuf(stdout, static_cast<char*>(std::malloc(bytes)),
               ::isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, bytes);
}

// ---- crashes ----------------------------------------------------------------------------------

alignas(16) char crash_stack[64 * 1024];

void on_crash(int signal, siginfo_t* info, void* context) {
  // What is noted of it must not lie in the program's heap, which goes back in time.
  const instrument::engine_scope inside;
  char text[96];
  const char* const name = signal == SIGSEGV  ? "segmentation fault"
                           : signal == SIGBUS ? "bus error"
                           : signal == SIGFPE ? "arithmetic error"
                           : signal == SIGILL ? "illegal instruction"
                                              : "trap";
  std::snprintf(text, sizeof text, "%s at address 0x%zx", name,
                reinterpret_cast<std::size_t>(info->si_addr));
  const auto* const machine_state = static_cast<ucontext_t*>(context);
  // A place is what a call returns to: one behind the instruction.
  const auto at = static_cast<std::uintptr_t>(machine_state->uc_mcontext.gregs[REG_RIP]) + 1;
  running_machine->crashed(text, reinterpret_cast<place>(at));
}

void catch_crashes() {
  const stack_t stack{crash_stack, 0, sizeof crash_stack};
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = &on_crash;
  // Not blocked while it is handled: the handler leaves for another stack and does not return.
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP})
    ::sigaction(signal, &action, nullptr);
}
void let_crash() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) ::signal(signal, SIG_DFL);
}

// ---- loops without an access ------------------------------------------------------------------

constexpr std::uint64_t most_seconds = 600;  // unless the whole search has fewer

std::uint64_t runaway_seconds() {
  const double all = program_options().seconds;
  return all > 0 && all < most_seconds ? static_cast<std::uint64_t>(all) : most_seconds;
}

bool explores_part = false;  // for another process, which tells of it
double end_of_time = 0;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void stop_runaway(place where, bool may_report) {
  if (explores_part && !may_report) ::_exit(1);
  if (instrument::time_is_over != 0) {
    if (may_report) running_machine->out_of_time(where);
    char line[96];
    const int length = std::snprintf(
        line, sizeof line, "syncopate: explored: bounded: %llu executions; limit: time\n",
        static_cast<unsigned long long>(running_machine->executions()));
    (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
    verdict bounded;
    bounded.how = result::bounded;
    ::_exit(bounded.status());
  }
  if (may_report) running_machine->runs_away(runaway_seconds(), where);
  instrument::fail("the program computes without an access to memory, in %s",
                   instrument::code_name(where).c_str());
}

void watch_time() {
  instrument::watch_for_runaway(runaway_seconds(),
                                {[] { return 1 + calls_seen; }, stop_runaway,
                                 [](place where) { running_machine->loops_for_good(where); }});
  if (program_options().seconds <= 0) return;
  const double left = end_of_time - now();
  instrument::watch_for_deadline(left > 0.001 ? left : 0.001);
}

// ---- the end ----------------------------------------------------------------------------------

// Returns: whether the files that were asked for are written.
bool report(verdict v, const options& o, const sites& ordered) {
  instrument::unseen unseen = instrument::what_is_unseen();
  v.assembly = std::move(unseen.assembly);
  v.calls = std::move(unseen.calls);
  v.structs_unseen = unseen.structs;
  v.signals = instrument::any_is_unmodeled;
  if (v.how == result::failed && !o.quiet) say(describe(v.what));
  if (!o.quiet) say(advice(v, o) + summary(v, o, ordered.what_was_weakened()));
  bool written = true;
  if (!o.statistics.empty()) {
    const std::string json = as_json(v, o, ordered.weakened());
    if (o.statistics == "json" || o.statistics == "1") say(json);
    else written = instrument::write_whole_file(o.statistics, json);
  }
  if (!o.sites.empty()) written &= instrument::write_whole_file(o.sites, ordered.as_json());
  return written;
}

}  // namespace

const options& program_options() {
  static const options all = [] {
    options o = options_from_environment();
    o.progress |= ::isatty(STDERR_FILENO) != 0;
    o.optimized = instrument::what_is_unseen().optimized;
    return o;
  }();
  return all;
}

}  // namespace syncopate::explored

int syncopate::engine::run(int (*program)()) {
  using namespace syncopate::explored;
  give_stdout_a_buffer();
  static output shown;
  static explored::machine all(program_options());
  running_machine = &all;
  instrument::keep_program_image();
  catch_crashes();
  end_of_time = now() + program_options().seconds;
  watch_time();
  bool first = true;
  explored::machine::surroundings around;
  around.before = [&] {
    if (!first) {
      instrument::forget_mappings();
      instrument::restore_program_image();
    }
    first = false;
  };
  around.output = [&](bool on) { shown.show(on); };
  around.child = [] {
    explores_part = true;
    for (std::FILE* each : {stdout, stderr}) __fpurge(each);  // it is the parent's
    instrument::part_begun_files();
    watch_time();
  };
  const verdict v = all.explore(program, around);
  instrument::time_is_over = 0;
  let_crash();
  shown.show(true);  // whatever the last execution has made of the descriptors
  const bool written = report(v, program_options(), all.ordered_sites());
  return written || v.status() != 0 ? v.status() : 1;
}
