// explore.cpp -- execution after execution, until there is nothing left to try.
#include "machine.h"

#include "model/front/names/names.h"
#include "model/front/program/runaway.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include <unistd.h>

namespace syncopate::explored {

namespace {

using seconds_clock = std::chrono::steady_clock;

double since(seconds_clock::time_point start) {
  return std::chrono::duration<double>(seconds_clock::now() - start).count();
}

constexpr std::uint64_t random_executions = 10'000;
constexpr std::uint64_t look_at_clock_every = 64;  // executions

options as_scheduled(options o) {
  take_options_of_schedule(o);
  return o;
}

}  // namespace

machine::machine(const options& o)
    : options_(as_scheduled(o)), search_(options_, memory_), sites_(o.weaken, !o.sites.empty()) {
  if (options_.schedule.empty()) return;
  replay_.read(options_.schedule);
  assumed_.begin_with_s_by_graph();
}

// ---- one execution ----------------------------------------------------------------------------

void machine::begin_threads() {
  memory_.reset(assumed_.has_s_by_graph());
  sc_orders_.forget();
  orders_.forget();
  shadow_.reset();
  search_.begin();
  threads_.begin();
  meetings_.forget();
  alternatives_.forget();
  dependence_.forget();
  lifetimes_.forget();
  claims_.begin();
  tx_.forget();
  scheduler_.begin();
  outcome_ = outcome::running;
  main_status_ = 0;
}

void machine::run_once(int (*program)()) {
  program_ = program;
  begin_threads();
  thread& main = threads_[0];
  main.now = thread_state::ready;
  main.entry = nullptr;
  main.stack_bytes = 0;
  main.priority = scheduler_.new_priority();
  memory_.begin_thread(0, nullptr, 0);
  switch_to(0);
  // Back from end_execution().
  for (unsigned t = threads_.count(); t-- > 0;) {
    if (threads_[t].fiber != nullptr) instrument::destroy_fiber(threads_[t].fiber);
    threads_[t].fiber = nullptr;
  }
}

void machine::fiber_main(void* self) {
  auto& m = *static_cast<machine*>(self);
  thread& t = m.me();
  if (t.entry != nullptr) {
    t.entry(t.argument);
  } else {
    m.main_status_ = m.program_();
    if (m.main_status_ != 0)
      m.fail(failure_kind::check, "main returned " + std::to_string(m.main_status_));
  }
  m.thread_exit();
}

// Returns when the thread is to run again.
void machine::announce(const operation& op) {
  settle_written();
  me().next = op;
  if (op.what != action::compute) me().read_at = 0;
  me().accesses = 0;
  me().next.callers = callers_of(op.from);
  me().announced_at = search_.depth();
  lifetimes_.leave_frames(me().stands, op.from);
  if (me().stands != 0) me().deepest = std::min(me().deepest, me().stands);
  me().now = thread_state::announced;
  const thread_index next = scheduler_.pick();
  if (next != threads_.current()) switch_to(next);
}

step& machine::take_turn(const operation& op) {
  announce(op);
  return scheduler_.turn();
}

void machine::switch_to(thread_index next) {
  thread& to = threads_[next];
  if (to.now == thread_state::ready) to.now = thread_state::announced;
  threads_.run(next);
  if (to.fiber == nullptr) {
    to.fiber = instrument::create_fiber(&machine::fiber_main, this, to.stack_bytes);
    const auto stack = instrument::stack_of(to.fiber);
    to.stack_low = stack.low;
    to.stack_high = stack.high;
    clear_stack(next);
  }
  instrument::switch_to(to.fiber);
}

unsigned machine::spawn(void (*entry)(void*), void* argument, std::size_t stack_bytes, place from) {
  abort_unfriendly();
  if (threads_.is_full())
    fail(failure_kind::unsupported,
         "more than " + std::to_string(max_threads) + " threads in one execution", from);
  const auto index = threads_.add();
  thread& t = threads_[index];
  t.now = thread_state::ready;
  t.entry = entry;
  t.argument = argument;
  t.stack_bytes = stack_bytes;
  if (options_.random) t.priority = scheduler_.new_priority();
  memory_.begin_thread(index, &memory_.of(threads_.current()), threads_.current());
  search_.past_of(index) = search_.past_of(threads_.current());
  verdict_.threads = std::max(verdict_.threads, threads_.count());
  return index;
}

void machine::thread_exit() {
  abort_unfriendly();
  // (main's variables outlive the other threads as far as anybody can tell; so do those of who ends
  // the program.)
  if (threads_.current() != 0 && !me().exits)
    lifetimes_.leave_frames(instrument::stack_of(me().fiber).high, me().next.from);
  me().now = thread_state::ended;
  switch_to(scheduler_.pick());
  __builtin_unreachable();
}

void machine::finish(engine::end how, int status, const char* message, place where) {
  std::string text = message != nullptr ? message : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (how != engine::end::exit)
    fail(failure_kind::check, text.empty() ? "the program aborted" : text, where);
  abort_unfriendly();
  if (status != 0)
    fail(failure_kind::check, "the program exited with status " + std::to_string(status), where);
  // The others run to their ends: what they would do is of interest, too.
  me().exits = true;
  thread_exit();
}

void machine::crashed(const char* how, place where) { fail(failure_kind::crash, how, where); }

void machine::runs_away(std::uint64_t seconds, place where) {
  verdict_.bound = std::to_string(seconds) +
                   " s of processor time without an access to memory, in " +
                   instrument::code_name(where);
  end_execution(outcome::cut);
}

void machine::out_of_time() {
  verdict_.bound = "time";
  end_execution(outcome::cut);
}

void machine::out_of_time(place where) {
  verdict_.bound =
      "time, in a computation without an access to memory, in " + instrument::code_name(where);
  end_execution(outcome::cut);
}

void machine::end_now(outcome how) {
  outcome_ = how;
  instrument::switch_to(engine_);
  __builtin_unreachable();
}

void machine::fail_now(failure_kind kind, std::string text, place where, place other,
                       address object) {
  if (tx_.runs() && tx_.never_commits()) {
    text = {};  // nobody comes back to destroy it
    tx_.abort({});
  }
  note_failure(kind, std::move(text), where, other, object);
  end_execution(outcome::failed);
}

void machine::note_failure(failure_kind kind, std::string text, place where, place other,
                           address object) {
  failure& f = verdict_.what;
  f = {};
  f.kind = kind;
  f.text = std::move(text);
  f.thread = threads_.current();
  f.where = where;
  f.callers = callers_of(where);
  f.other = other;
  f.object = object;
  const std::size_t made = search_.depth() + (scheduler_.is_in_step() ? 1 : 0);
  f.steps.assign(search_.steps().begin(),
                 search_.steps().begin() + static_cast<std::ptrdiff_t>(made));
  f.schedule = unusual(options_);
  if (!f.schedule.empty()) f.schedule += ' ';
  f.schedule += write_schedule(f.steps);
  const bool nobody_runs = kind == failure_kind::deadlock || kind == failure_kind::livelock;
  for (unsigned t = 0; t < threads_.count(); ++t) {
    failure::thread_end end;
    const thread& who = threads_[t];
    end.ended = who.now == thread_state::ended;
    end.running = t == threads_.current() && !nobody_runs;
    end.spins = who.spins || (who.now == thread_state::announced && who.next.recognized);
    end.reads_nothing = who.next.what == action::relax && who.next.recognized && who.polls.empty();
    end.parked = who.parked && who.next.what == action::expire;
    end.next = who.next;
    f.threads.push_back(end);
  }
  tell_names();
}

void machine::tell_names() const {
  instrument::forget_blocks_and_threads();
  lifetimes_.tell_names();
  for (unsigned t = 0; t < threads_.count(); ++t) {
    if (threads_[t].fiber == nullptr) continue;
    const auto stack = instrument::stack_of(threads_[t].fiber);
    const auto locals = instrument::tls_of(threads_[t].fiber);
    instrument::note_thread(t, stack.low, stack.high, locals.low, locals.high);
  }
}

// ---- all executions ---------------------------------------------------------------------------

bool machine::limit_reached(double seconds) {
  const std::uint64_t most = options_.executions != 0 ? options_.executions
                             : options_.random        ? random_executions
                                                      : 0;
  if (most != 0 && verdict_.executions >= most) {
    verdict_.bound = std::to_string(most) + " executions";
    return true;
  }
  if (options_.seconds != 0 && seconds >= options_.seconds) {
    verdict_.bound = "time";
    return true;
  }
  return false;
}

void machine::show_progress(double seconds) const {
  char line[160];
  const int length =
      std::snprintf(line, sizeof line, "syncopate: %.0f s, %llu executions (%llu redundant)\n",
                    seconds, static_cast<unsigned long long>(verdict_.executions),
                    static_cast<unsigned long long>(verdict_.redundant));
  (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

// The part's process has found it; here it has to be told.
void machine::repeat_failure(const std::string& schedule, const surroundings& around) {
  const verdict counted = verdict_;
  jobs_.abandon();
  search_.forget();
  assumed_
      .forget_endless();  // a loop may give up in it that was found endless after that was chosen
  std::string steps = schedule;
  if (const std::size_t end = steps.find(' '); steps.substr(0, end).find('=') != std::string::npos)
    steps = end == std::string::npos ? "-" : steps.substr(end + 1);
  replay_.read(steps);
  if (around.before) around.before();
  run_once(program_);
  replay_.clear();
  failure again = std::move(verdict_.what);
  verdict_ = counted;
  verdict_.what = std::move(again);
  verdict_.what.schedule = schedule;
  outcome_ = outcome::failed;
}

// The limits that have ended the search, or have kept something from being tried.
void machine::conclude() {
  if (outcome_ == outcome::failed) {
    verdict_.how = result::failed;
    return;
  }
  const auto limit = [&](bool reached, const std::string& which) {
    if (reached && verdict_.bound.empty()) verdict_.bound = which;
  };
  limit(verdict_.endless.computes, "a computation without an end");
  limit(verdict_.cut != 0, std::to_string(options_.steps) + " steps an execution");
  limit(memory_.had_too_many(), std::to_string(max_choices) + " old values of a variable");
  limit(search_.dropped(), std::to_string(options_.preemptions) + " preemptions");
  limit(replay_.is_on(), "one schedule");
  // (Every program has one. If none was found, the search has lost it.)
  limit(verdict_.executions == verdict_.redundant, "no execution that came to its end");
  verdict_.how = verdict_.bound.empty() ? result::passed : result::bounded;
}

// The execution that has failed once more, for its output.
void machine::show_output(int (*program)(), const surroundings& around) {
  if (!around.output) return;
  if (outcome_ != outcome::failed || verdict_.executions <= 1) return around.output(true);
  const failure found = verdict_.what;
  if (around.before) around.before();
  around.output(true);
  run_once(program);
  if (outcome_ != outcome::failed || verdict_.what.kind != found.kind) verdict_.what = found;
  outcome_ = outcome::failed;
}

// Time was over in the execution: that may have interrupted a call of the system, which nothing of
// the program's would have, so that what came of it is not the program's.
void machine::leave_out_what_time_has_ended() {
  if (instrument::time_is_over == 0 || !verdict_.bound.empty()) return;
  const auto kind = outcome_ == outcome::failed ? verdict_.what.kind : failure_kind::none;
  if (kind != failure_kind::none && kind != failure_kind::check && kind != failure_kind::crash)
    return;
  outcome_ = outcome::cut;
  verdict_.what = {};
  verdict_.bound = "time";
}

// One execution here. Returns whether another one may follow.
bool machine::run_next(int (*program)(), const surroundings& around) {
  if (around.before) around.before();
  if (around.output && verdict_.executions == 1) around.output(false);
  run_once(program);
  leave_out_what_time_has_ended();
  ++verdict_.executions;
  verdict_.longest = std::max<std::uint64_t>(verdict_.longest, search_.depth());
  if (outcome_ == outcome::failed) return false;
  if (outcome_ == outcome::complete && around.after) around.after();
  if (outcome_ == outcome::redundant) ++verdict_.redundant;
  if (outcome_ == outcome::cut) ++verdict_.cut;
  if (replay_.is_on() && assumed_.begins_anew() && outcome_ == outcome::redundant) {
    assumed_.has_begun_anew();  // the same schedule, with readers in order, or S of the execution
    assumed_.forget_endless();
    --verdict_.executions;
    --verdict_.redundant;
    search_.forget();
    return run_next(program, around);
  }
  return !replay_.is_on() && verdict_.bound.empty();
}

verdict machine::explore(int (*program)(), const surroundings& around) {
  engine_ = instrument::running_fiber();
  scheduler_.allow(around.all_must_end, around.loops_may_stay);
  stack_ = around.stack;
  const auto start = seconds_clock::now();
  double next_progress = 2;
  verdict_ = {};
  verdict_.threads = 1;
  while (run_next(program, around)) {
    if (jobs_.split(around)) continue;
    const jobs::next next = jobs_.go_on();
    if (next == jobs::next::failed) repeat_failure(jobs_.failed_schedule(), around);
    if (next != jobs::next::is_here) break;
    const bool looks = verdict_.executions % look_at_clock_every == 0 || verdict_.longest > 1000;
    const double seconds = looks ? since(start) : 0;
    if (options_.progress && seconds >= next_progress) {
      show_progress(seconds);
      next_progress = seconds + 2;
    }
    if (limit_reached(seconds)) break;
  }
  jobs_.abandon();
  if (jobs_.explores_part()) jobs_.hand_over(outcome_ == outcome::failed);
  show_output(program, around);
  verdict_.seconds = since(start);
  verdict_.s_by_graph = assumed_.has_s_by_graph();
  conclude();
  return verdict_;
}

}  // namespace syncopate::explored
