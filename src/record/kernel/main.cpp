// main.cpp -- kernel-recorder: records running processes by what the kernel sees of them.
//
//   kernel-recorder check
//   kernel-recorder record --pid PID --output FILE [--for NANOSECONDS] [--alone] [--launched]
//                          [--redact] [--ready DESCRIPTOR]
//
// `check` says in one line on standard output why the kernel's view does not work here; nothing
// where it does. `record` runs until PID ends, the time is over, or SIGINT or SIGTERM comes; its
// parent's end is one. --launched: PID is about to run the program that is meant. --alone: without
// the processes that it starts. One byte goes to DESCRIPTOR when the recording has begun.
// Exit status: 0; 1 with one line on standard error; 3 PID ended before that.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/kernel/kernel_side.h"
#include "record/kernel/watched_process.h"

namespace syncopate::record::kernel {

namespace {

constexpr std::uint64_t millisecond = 1'000'000, second = 1000 * millisecond;
constexpr int between_polls = 10;                          // milliseconds
constexpr std::uint64_t between_looks = 20 * millisecond;  // at waits that last
constexpr std::uint64_t looks_take_at_most = 800;          // one part in so many of the time
// Of waits that are chosen by chance: many until the first so many stacks have been copied, of both
// who waits and who wakes; their unwinding is most of what a recording costs.
constexpr std::uint64_t stacks_a_second = 100, first_stacks = 2000, first_stacks_a_second = 500;
constexpr std::uint64_t last_ones_end_within = 200 * millisecond;
constexpr int ahead_of_programs = -10;  // niceness
constexpr std::uint32_t longest_period = 32768;
constexpr std::size_t most_untold = 65'536;  // places where a process ran

volatile std::sig_atomic_t asked_to_end = 0;

// This thread's processor time: beside others, what takes little may last long.
std::uint64_t ran_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * second +
         static_cast<std::uint64_t>(time.tv_nsec);
}

struct request {
  std::uint32_t process = 0;
  std::string output;
  std::uint64_t duration = 0;  // nanoseconds; 0: without an end
  bool follows = true, launched = false, redact = false;
  int ready = -1;
};

class recorder {
 public:
  explicit recorder(const request& r)
      : request_(r), side_([this](const event_head& e) { take(e); }) {}

  int run();

 private:
  void take(const event_head&);
  watched_process* of(std::uint32_t process);
  program_name called_as(std::uint32_t process) const;
  watched_process* begin(std::uint32_t process, std::uint64_t since);
  // Requires: read_sums() since the process ran.
  void leave(std::uint32_t process, std::uint32_t flags, std::uint64_t until);
  void leave_ended(std::uint64_t now);
  void executes(const exec_event&);
  void exits(const exit_event&);
  void look(std::uint64_t now);
  void read_sums();
  void read_samples();
  void adapt(std::uint64_t now);
  void tell_who_goes_on() const;
  std::string free_path(std::uint32_t process) const;
  int fail(const std::string& why) const;

  const request request_;
  kernel_side side_;
  watched_process::takers takers_;
  std::map<std::uint32_t, std::unique_ptr<watched_process>> processes_;
  struct origin {
    std::uint32_t parent;
    std::uint64_t since;
    program_name called;
  };
  std::map<std::uint32_t, origin> origins_;  // of all processes that are there
  using samples_at = std::map<std::pair<std::uint64_t, bool>, std::uint32_t>;
  std::map<std::uint32_t, samples_at> untold_samples_;
  struct ending {
    std::uint32_t flags;
    std::uint64_t since;
  };
  // Processes of which a thread was the last: another one may have ended at the same time.
  std::map<std::uint32_t, ending> endings_;
  bool waits_for_program_ = false, ended_ = false;
  std::uint64_t next_look_ = 0, old_enough_ = between_looks, next_refresh_ = 0;
  std::uint64_t waits_ = 0;  // that were told, ever
  std::uint64_t adapted_at_ = 0, waits_then_ = 0;
  int write_error_ = 0;
};

int recorder::fail(const std::string& why) const {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

// FILE, or FILE.PID, or FILE.PID.1, ...: as the preload recorder names records.
std::string recorder::free_path(std::uint32_t process) const {
  std::string path = request_.output;
  const std::string own = path + "." + std::to_string(process);
  for (unsigned n = 0; ::access(path.c_str(), F_OK) == 0; ++n)
    path = n == 0 ? own : own + "." + std::to_string(n);
  return path;
}

watched_process* recorder::begin(std::uint32_t process, std::uint64_t since) {
  const origin& from = origins_[process];
  auto made = std::make_unique<watched_process>(process, from.parent, takers_);
  const std::string path =
      process == request_.process && processes_.empty() ? request_.output : free_path(process);
  if (const int failed = made->begin(path, request_.redact, since, from.called); failed != 0) {
    if (write_error_ == 0) write_error_ = failed;
    return nullptr;
  }
  return (processes_[process] = std::move(made)).get();
}

// The record of a process, begun now if there is none: that process has something to tell.
watched_process* recorder::of(std::uint32_t process) {
  const auto found = processes_.find(process);
  if (found != processes_.end()) return found->second.get();
  if (waits_for_program_ && process == request_.process) return nullptr;
  const auto origin = origins_.find(process);
  if (origin == origins_.end()) return nullptr;  // it has ended
  watched_process* made = begin(process, origin->second.since);
  if (made != nullptr) made->had_before(0, 0);
  return made;
}

// A new process is called as the one that begins it, until it runs a program.
program_name recorder::called_as(std::uint32_t process) const {
  const auto found = origins_.find(process);
  return found != origins_.end() ? found->second.called : program_name{};
}

void recorder::leave(std::uint32_t process, std::uint32_t flags, std::uint64_t until) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  found->second->finish(flags, side_.controls(), until);
  if (!found->second->has_told() && process != request_.process) found->second->file().discard();
  processes_.erase(found);
}

void recorder::executes(const exec_event& exec) {
  const exit_event& e = exec.before;
  const std::uint32_t process = e.head.process;
  const bool is_ours = process == request_.process;
  const auto found = processes_.find(process);
  if (found != processes_.end()) {
    const bool told = found->second->has_told();
    const std::string path = found->second->file().path();
    read_sums();
    leave(process, finished, e.head.time);
    if (!told && is_ours) ::unlink(path.c_str());  // nothing but the way to the program
  } else {
    read_samples();
  }
  untold_samples_.erase(process);  // of the program before
  if (e.has_blocked != 0) side_.forget_blocked_of(e.head.thread);
  if (const auto origin = origins_.find(process); origin != origins_.end()) {
    std::string command(exec.command, exec.command_bytes);
    if (command.size() == sizeof exec.command) command += "...";
    origin->second.called = {exec.executable[0] == '/' ? exec.executable : "", std::move(command)};
  }
  if (is_ours) {
    waits_for_program_ = false;
    if (watched_process* made = begin(process, e.head.time); made != nullptr)
      made->had_before(e.cpu_ns, e.delay_ns);
  }
}

void recorder::exits(const exit_event& e) {
  const std::uint32_t process = e.head.process;
  const auto found = processes_.find(process);
  if (found != processes_.end()) found->second->thread_ended(e);
  if (!e.last) return;
  const bool by_signal = (e.exit_code & 0x7f) != 0;
  endings_[process] = {by_signal ? killed : finished, e.head.time};
  if (found == processes_.end() || !found->second->has_threads()) leave_ended(e.head.time);
}

void recorder::leave_ended(std::uint64_t now) {
  bool is_read = false;  // once for all that have ended
  for (auto each = endings_.begin(); each != endings_.end();) {
    const auto [process, how] = *each;
    const auto found = processes_.find(process);
    if (found != processes_.end() && found->second->has_threads() &&
        now < how.since + last_ones_end_within) {
      ++each;
      continue;
    }
    if (found != processes_.end() && !std::exchange(is_read, true)) read_sums();
    leave(process, how.flags, how.since);
    side_.forget(process);
    origins_.erase(process);
    if (process == request_.process) ended_ = true;
    each = endings_.erase(each);
  }
}

void recorder::take(const event_head& e) {
  switch (e.type) {
    case event_wait:
      ++waits_;
      if (auto* p = of(e.process)) p->wait(reinterpret_cast<const wait_event&>(e));
      break;
    case event_stack:
      if (auto* p = of(e.process)) p->stack(reinterpret_cast<const stack_event&>(e));
      break;
    case event_waker:
      if (auto* p = of(e.process)) p->waker(reinterpret_cast<const stack_event&>(e));
      break;
    case event_thread:
      if (auto* p = of(e.process)) p->thread_began(e);
      break;
    case event_shares:
      if (auto* p = of(e.process)) p->has_something_to_tell();
      break;
    case event_exit: exits(reinterpret_cast<const exit_event&>(e)); break;
    case event_fork:
      origins_[reinterpret_cast<const fork_event&>(e).child] = {e.process, e.time,
                                                                called_as(e.process)};
      break;
    case event_exec: executes(reinterpret_cast<const exec_event&>(e)); break;
    default: break;
  }
}

void recorder::look(std::uint64_t now) {
  if (now < next_look_) return;
  const std::uint64_t begun = ran_ns();
  const auto all = side_.waiting();
  const std::uint64_t took = ran_ns() - begun;  // without what is done once for each wait
  for (const waiting_thread& w : all)
    if (auto* p = now >= w.since + old_enough_ ? of(w.process) : nullptr)
      p->still_waits(w, side_, now, old_enough_);
  const std::uint64_t pause = std::clamp(took * looks_take_at_most, between_looks, second);
  next_look_ = now + pause;
}

void recorder::read_sums() {
  read_samples();
  for (const auto& [key, sum] : side_.blocked(now_ns())) {
    const auto found = processes_.find(key.process);
    const bool alive = found != processes_.end() && found->second->blocked(key, sum);
    if (!alive && ::access(("/proc/" + std::to_string(key.thread)).c_str(), F_OK) != 0)
      side_.forget_blocked(key);
  }
}

// Those of processes that have told nothing yet are kept until these do or end.
void recorder::read_samples() {
  for (const auto& [key, count] : side_.cpu_samples()) {
    auto& of_process = untold_samples_[key.process];
    if (of_process.size() < most_untold) of_process[{key.address, key.in_kernel}] += count;
  }
  for (auto each = untold_samples_.begin(); each != untold_samples_.end();) {
    const auto found = processes_.find(each->first);
    const bool is_told = found != processes_.end();
    if (is_told)
      for (const auto& [at, count] : each->second)
        found->second->file().add_samples(at.first, at.second != 0, count);
    const bool is_gone = origins_.count(each->first) == 0;
    each = is_told || is_gone ? untold_samples_.erase(each) : std::next(each);
  }
}

// So many waits that only some have their stacks copied.
void recorder::adapt(std::uint64_t now) {
  kernel_controls& controls = side_.controls();
  // Soon where all are copied still: a program may wait often from its start.
  const std::uint64_t pause = (controls.period == 1 ? 20 : 100) * millisecond;
  if (now - adapted_at_ < pause) return;
  const std::uint64_t waits = waits_ + controls.lost_waits;
  const std::uint64_t rate = (waits - waits_then_) * second / (now - adapted_at_);
  const std::uint64_t wanted =
      controls.stacks_taken < first_stacks ? first_stacks_a_second : stacks_a_second;
  const std::uint64_t period = std::clamp<std::uint64_t>(rate / wanted, 1, longest_period);
  controls.period = static_cast<std::uint32_t>(period);
  if (period > 1)
    for (const auto& [id, process] : processes_) process->file().set_flag(sampled);
  waits_then_ = waits;
  adapted_at_ = now;
}

int recorder::run() {
  const std::string path = "/proc/" + std::to_string(request_.process);
  if (const std::string why = side_.start(request_.follows); !why.empty()) return fail(why);
  side_.add(request_.process);
  origins_[request_.process] = {static_cast<std::uint32_t>(::getppid()), now_ns(),
                                name_of(request_.process)};
  waits_for_program_ = request_.launched;
  if (!request_.launched) {
    if (begin(request_.process, now_ns()) == nullptr)
      return fail("cannot write the record " + request_.output + ": " +
                  std::strerror(write_error_) + "; choose another place with -o FILE");
    if (::access((path + "/maps").c_str(), R_OK) != 0) {
      ::unlink(request_.output.c_str());
      return 3;
    }
    side_.seed();
    processes_.begin()->second->find_threads();
  }
  if (request_.ready >= 0) {
    if (::write(request_.ready, "+", 1) != 1) asked_to_end = 1;
    ::close(request_.ready);
  }
  const std::uint64_t begun = now_ns();
  adapted_at_ = begun;
  next_refresh_ = begun + second;
  for (std::uint64_t now = begun; asked_to_end == 0 && !ended_; now = now_ns()) {
    if (request_.duration != 0 && now - begun >= request_.duration) break;
    side_.poll(between_polls);
    adapt(now);
    look(now);
    leave_ended(now);
    if (now >= next_refresh_) {
      read_sums();
      for (const auto& [id, process] : processes_) process->refresh(side_.controls());
      next_refresh_ = now + second;
    }
  }
  side_.poll(0);
  for (int i = 0; i < 2; ++i) {  // the second sees who holds what the first has found
    next_look_ = 0;
    look(now_ns());
  }
  leave_ended(~std::uint64_t{0});
  if (ended_) tell_who_goes_on();
  read_sums();
  while (!processes_.empty()) leave(processes_.begin()->first, detached, now_ns());
  return 0;
}

// On standard output: who started us may say that these are recorded no longer.
void recorder::tell_who_goes_on() const {
  for (const auto& [process, origin] : origins_)
    if (::kill(static_cast<pid_t>(process), 0) == 0) std::printf("%u\n", process);
  std::fflush(stdout);
}

bool read_request(int count, char** words, request& r) {
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    const char* value = i + 1 < count ? words[i + 1] : "";
    if (word == "--alone") {
      r.follows = false;
    } else if (word == "--launched") {
      r.launched = true;
    } else if (word == "--redact") {
      r.redact = true;
    } else {
      ++i;
      if (word == "--pid") r.process = static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
      else if (word == "--output") r.output = value;
      else if (word == "--for") r.duration = std::strtoull(value, nullptr, 10);
      else if (word == "--ready") r.ready = std::atoi(value);
      else return false;
    }
  }
  return r.process != 0 && !r.output.empty();
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "check") {
    kernel_side side([](const event_head&) {});
    const std::string why = side.start(true);
    if (!why.empty()) std::puts(why.c_str());
    return 0;
  }
  request r;
  if (what != "record" || !read_request(count, words, r)) {
    std::fputs("usage: kernel-recorder check | record --pid PID --output FILE ...\n", stderr);
    return 2;
  }
  struct sigaction end {};
  end.sa_handler = [](int) { asked_to_end = 1; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &end, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // whoever started us may have blocked these
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // Before the threads of the program, however many want to run: what it reads late is lost. Where
  // that is refused, as without CAP_SYS_NICE, it does not.
  ::setpriority(PRIO_PROCESS, 0, ahead_of_programs);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  return recorder(r).run();
}

}  // namespace syncopate::record::kernel

int main(int count, char** words) { return syncopate::record::kernel::main(count, words); }
