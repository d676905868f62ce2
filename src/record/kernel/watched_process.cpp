// watched_process.cpp -- a process, its threads and processors: watched_process.h.
#include "record/kernel/watched_process.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace syncopate::record::kernel {

namespace {

constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint64_t gets_its_name = 3000 * millisecond;  // a thread, once it has begun
// Beyond so many, a new one goes on in the entry of one that has ended (src/record/threads.cpp).
constexpr std::uint32_t separate_threads = 2048;
constexpr std::uint64_t dies_within = 1000 * millisecond;  // once a signal has woken it

std::string proc(std::uint32_t process, const char* what) {
  return "/proc/" + std::to_string(process) + "/" + what;
}

// "" of what is gone, as it may be between two reads: a thread of which /proc tells can end at any
// time.
std::string read_all(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string all;
  char part[4096];
  ssize_t got = 0;
  while ((got = ::read(file, part, sizeof part)) > 0)
    all.append(part, static_cast<std::size_t>(got));
  ::close(file);
  return got == 0 ? all : "";
}

std::uint64_t clock_ns(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

// Whether the kernel has put it among the process's threads for itself, as io_uring's workers.
bool is_kernels_own(std::uint32_t process, std::uint32_t thread) {
  constexpr unsigned io_worker = 0x10, user_worker = 0x4000;  // PF_IO_WORKER, PF_USER_WORKER
  const std::string text = read_all(proc(process, "task/") + std::to_string(thread) + "/stat");
  const std::size_t name_ends = text.rfind(')');
  unsigned flags = 0;
  return name_ends != std::string::npos &&
         std::sscanf(text.c_str() + name_ends, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
         (flags & (io_worker | user_worker)) != 0;
}

using bits = std::vector<unsigned long>;

// Of the processors that a thread may use; none: it has ended.
bits processors_of(std::uint32_t thread) {
  unsigned long words[1024] = {};
  const long bytes = ::syscall(SYS_sched_getaffinity, thread, sizeof words, words);
  return bytes > 0 ? bits(words, words + static_cast<std::size_t>(bytes) / sizeof *words) : bits();
}

void add(bits& to, const bits& more) {
  to.resize(std::max(to.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) to[i] |= more[i];
}

template <std::size_t size>
void copy_text(char (&to)[size], const std::string& from) {
  std::memcpy(to, from.data(), std::min(from.size(), size - 1));
}

}  // namespace

std::uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

std::pair<std::uint64_t, std::uint64_t> times_of(std::uint32_t process, std::uint32_t thread) {
  const std::string text = read_all(proc(process, "task/") + std::to_string(thread) + "/schedstat");
  unsigned long long cpu = 0, delay = 0;
  if (std::sscanf(text.c_str(), "%llu %llu", &cpu, &delay) != 2) return {0, 0};
  return {cpu, delay};
}

program_name name_of(std::uint32_t process) {
  char path[4096] = "";
  const ssize_t bytes = ::readlink(proc(process, "exe").c_str(), path, sizeof path - 1);
  return {std::string(path, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))),
          read_all(proc(process, "cmdline"))};
}

watched_process::watched_process(std::uint32_t process, std::uint32_t parent, takers& of_all)
    : process_(process), parent_(parent), of_all_(of_all), unwinder_(process) {}

int watched_process::begin(const std::string& path, bool redact, std::uint64_t since,
                           const program_name& called) {
  if (const int failed = file_.open(path); failed != 0) {
    if (failed != EEXIST) file_.discard();
    return failed;
  }
  fill_header(redact, since, called);
  file_.add_maps(unwinder_.described());
  find_threads();
  return 0;
}

void watched_process::had_before(std::uint64_t cpu_ns, std::uint64_t delay_ns) {
  thread_state& t = thread_of(process_);
  t.entry->start_ticks = file_.header().start_ticks;
  t.cpu_before = cpu_ns;
  t.delay_before = delay_ns;
}

namespace {

// As record/file.cpp leaves them out.
std::string without_arguments(const std::string& command, const char* executable) {
  std::string name = command.c_str();
  const bool has_title = name.find(' ') != std::string::npos && name != executable;
  if (!has_title && name.size() + 1 >= command.size()) return command;
  if (has_title) name = executable;
  return name + '\0' + "(arguments left out)";
}

// What does not fit is cut, and the end says so, as record/file.cpp does.
std::string cut_to(std::size_t bytes, std::string command) {
  constexpr std::string_view cut = "...";
  if (command.size() >= bytes) command.replace(bytes - 1 - cut.size(), std::string::npos, cut);
  return command;
}

}  // namespace

void watched_process::fill_header(bool redact, std::uint64_t since, const program_name& called) {
  file_header& h = file_.header();
  h.process_id = process_;
  h.parent_id = parent_;
  h.start_ticks = h.last_ticks = h.start_monotonic_ns = h.last_monotonic_ns = since;
  h.start_realtime_ns = clock_ns(CLOCK_REALTIME) - (now_ns() - since);
  bits usable = processors_of(process_);
  if (usable.empty()) usable = processors_of(0);  // it has ended: as we may
  for (const unsigned long each : usable)
    h.processors += static_cast<std::uint32_t>(std::popcount(each));
  h.ticks_per_second = 1'000'000'000;
  h.recorder = by_kernel;
  h.recorder_id = static_cast<std::uint32_t>(::getpid());
  copy_text(h.lock, "as it is");
  copy_text(h.wait, "as it is");
  const program_name now = name_of(process_);
  copy_text(h.executable, now.executable.empty() ? called.executable : now.executable);
  std::string command = now.command.empty() ? called.command : now.command;
  if (redact) command = without_arguments(command, h.executable);
  copy_text(h.command, cut_to(sizeof h.command, command));
  std::memcpy(h.magic, magic, sizeof h.magic);
}

void watched_process::find_threads() {
  DIR* tasks = ::opendir(proc(process_, "task").c_str());
  if (tasks == nullptr) return;
  while (const dirent* each = ::readdir(tasks)) {
    const auto thread = static_cast<std::uint32_t>(std::strtoul(each->d_name, nullptr, 10));
    if (thread == 0 || lives(thread) || is_kernels_own(process_, thread)) continue;
    thread_state& t = thread_of(thread);
    std::tie(t.cpu_before, t.delay_before) = times_of(process_, thread);
  }
  ::closedir(tasks);
}

watched_process::thread_state& watched_process::thread_of(std::uint32_t thread) {
  const auto [found, is_new] = threads_.try_emplace(thread);
  thread_state& t = found->second;
  if (!is_new) return t;
  take_entry(t);
  t.entry->thread_id = thread;
  t.began = now_ns();
  t.entry->start_ticks = t.began - t.lived;
  name(t, thread);
  t.processors = processors_of(thread);
  return t;
}

void watched_process::take_entry(thread_state& t) {
  if (file_.thread_count() >= separate_threads && !idle_.empty()) {
    std::tie(t.entry, t.index) = idle_.back();
    idle_.pop_back();
    t.lived = t.entry->end_ticks - std::min(t.entry->end_ticks, t.entry->start_ticks);
    t.cpu_of_others = t.entry->cpu_ns;
    t.delay_of_others = t.entry->delay_ns;
    t.entry->end_ticks = t.entry->handle = 0;
    return;
  }
  std::tie(t.entry, t.index) = file_.add_thread();
  if (t.entry == nullptr) {  // the file is full: nobody reads this one
    static thread_entry nowhere;
    t.entry = &nowhere;
  }
}

// What the kernel has counted for it ever.
void watched_process::count(thread_state& t, std::uint64_t cpu_ns, std::uint64_t delay_ns) {
  // 0 would say that it is not known.
  const std::uint64_t cpu =
      std::max<std::uint64_t>(1, cpu_ns - std::min<std::uint64_t>(cpu_ns, t.cpu_before));
  const std::uint64_t before = t.delay_before + t.delay_in_waits;
  t.entry->cpu_ns = t.cpu_of_others + cpu;
  t.entry->delay_ns = t.delay_of_others + delay_ns - std::min<std::uint64_t>(delay_ns, before);
}

// Where a thread has ended since, it could use what it could before.
void watched_process::see_processors() {
  bits all = processors_of_ended_;
  for (auto& [thread, t] : threads_) {
    if (bits now = processors_of(thread); !now.empty()) t.processors = std::move(now);
    add(all, t.processors);
  }
  std::uint32_t count = 0;
  for (const unsigned long each : all) count += static_cast<std::uint32_t>(std::popcount(each));
  if (count != 0) file_.header().processors = count;
}

void watched_process::name(thread_state& t, std::uint32_t thread) {
  std::string text = read_all(proc(process_, "task/") + std::to_string(thread) + "/comm");
  if (!text.empty()) text.pop_back();
  if (!text.empty()) copy_text(t.entry->name, text);
}

void watched_process::thread_began(const event_head& e) {
  told_ = true;
  thread_state& t = thread_of(e.thread);
  t.entry->start_ticks = std::max<std::uint64_t>(e.time, file_.header().start_ticks) - t.lived;
  // Who begins a thread may have chosen processors for all before.
  if (bits now = processors_of(process_); !now.empty())
    thread_of(process_).processors = std::move(now);
  read_modules_if_due();
}

void watched_process::thread_ended(const exit_event& e) {
  thread_state& t = thread_of(e.head.thread);
  std::memcpy(t.entry->name, e.name, sizeof t.entry->name);
  count(t, e.cpu_ns, e.delay_ns);
  if (!t.unended.empty() && e.in_a_wait != 0) {
    t.unended.clear();  // it waits there still, when the record ends
  } else {
    write_unended(t);
    t.entry->open.since = 0;
    t.entry->end_ticks = e.head.time;
  }
  add(processors_of_ended_, t.processors);
  ended_[e.head.thread] = t;
  threads_.erase(e.head.thread);
}

void watched_process::tell_lost(const kernel_controls& of_all) {
  file_header& h = file_.header();
  h.lost_waits = of_all.lost_waits + of_all.lost_others;
  h.lost_ticks = of_all.lost_ns;
  h.lost_stacks = of_all.lost_stacks;
  h.copied_stacks = of_all.stacks_taken;
}

void watched_process::refresh(const kernel_controls& of_all) {
  if (unwinder_.refresh()) file_.add_maps(unwinder_.described());
  const std::uint64_t now = now_ns();
  for (auto& [thread, t] : threads_) {
    if (now < t.began + gets_its_name) name(t, thread);
    if (!t.unended.empty() && now > t.unended.back().e.head.time + dies_within) write_unended(t);
  }
  // But not where its last wait is written down as one that was not over.
  for (const auto& [thread, t] : ended_)
    if (t.entry->end_ticks != 0) idle_.emplace_back(t.entry, t.index);
  ended_.clear();
  see_processors();
  tell_lost(of_all);
  file_header& h = file_.header();
  h.last_ticks = h.last_monotonic_ns = now_ns();
}

void watched_process::finish(std::uint32_t flags, const kernel_controls& of_all,
                             std::uint64_t until) {
  for (auto& [thread, t] : threads_) {
    write_unended(t);
    name(t, thread);
    const auto [cpu, delay] = times_of(process_, thread);
    if (cpu == 0) continue;
    count(t, cpu, delay);
  }
  see_processors();
  tell_lost(of_all);
  file_header& h = file_.header();
  h.last_ticks = h.last_monotonic_ns = until;
  file_.set_flag(flags);
}

}  // namespace syncopate::record::kernel
