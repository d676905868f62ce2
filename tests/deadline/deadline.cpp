// deadline.cpp -- runs a test, and ends it when it takes too long, after telling what each of its
// processes and threads waits for. ctest's own TIMEOUT says only that it came. Time in which one of
// the threads waits for a processor does not count: beside many others a test may take minutes for
// what takes it a second. But where its own threads keep the processors from each other, it does.
//
// Usage: deadline SECONDS COMMAND [ARGUMENT...]
// The status is the command's; a signal that ended it ends this, too; 124: it took too long; 125: a
// library that LD_PRELOAD names is not there. The loader goes on without it, and what the test says
// would be said of a program without the library.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int took_too_long = 124, not_preloaded = 125, cannot_run = 127;

// The parts of an environment variable between any of these characters.
std::vector<std::string> parts_of(const char* variable, const char* separators) {
  std::vector<std::string> parts(1);
  const char* const text = ::getenv(variable);
  for (const char* c = text != nullptr ? text : ""; *c != 0; c++)
    if (std::strchr(separators, *c) != nullptr) parts.emplace_back();
    else parts.back() += *c;
  return parts;
}

bool is_readable(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

// Whether the loader finds an entry of LD_PRELOAD. A name without a folder that is not one of our
// libraries may be the system's, which the loader knows where to find.
bool is_found(const std::string& entry) {
  if (entry.empty()) return true;
  if (entry.find('/') != std::string::npos) return is_readable(entry);
  if (entry.rfind("libsyncopate", 0) != 0) return true;
  for (const std::string& folder : parts_of("LD_LIBRARY_PATH", ":;"))
    if (is_readable(folder + "/" + entry)) return true;
  return false;
}

bool is_all_preloaded() {
  for (const std::string& entry : parts_of("LD_PRELOAD", ": "))
    if (!is_found(entry)) {
      std::fprintf(stderr, "deadline: LD_PRELOAD names %s, which is not there\n", entry.c_str());
      return false;
    }
  return true;
}

// The names in a folder that are numbers, as /proc has them for processes and threads.
std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> found;
  DIR* const entries = ::opendir(folder.c_str());
  if (entries == nullptr) return found;
  while (const dirent* const entry = ::readdir(entries))
    if (const int number = std::atoi(entry->d_name); number > 0) found.push_back(number);
  ::closedir(entries);
  return found;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  for (char& c : line)
    if (c == '\0') c = ' ';
  return line;
}

// A process, its children, theirs, and so on.
void add_family(pid_t process, std::vector<pid_t>& family) {
  family.push_back(process);
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const pid_t task : numbers_in(tasks)) {
    std::ifstream children(tasks + "/" + std::to_string(task) + "/children");
    for (pid_t child; children >> child;) add_family(child, family);
  }
}

// What the kernel knows of a thread: state, where it sleeps, and the system call with its arguments
// (202 is futex, the first argument its word).
void tell_by_kernel(pid_t process) {
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const pid_t task : numbers_in(tasks)) {
    const std::string thread = tasks + "/" + std::to_string(task);
    std::fprintf(stderr, "  thread %d (%s): in %s, system call %s\n", task,
                 first_line(thread + "/comm").c_str(), first_line(thread + "/wchan").c_str(),
                 first_line(thread + "/syscall").c_str());
  }
}

void tell(pid_t process) {
  const std::string id = std::to_string(process);
  std::fprintf(stderr, "\n--- process %s: %s\n", id.c_str(),
               first_line("/proc/" + id + "/cmdline").c_str());
  tell_by_kernel(process);
}

void tell_stacks(pid_t process) {
  const std::string id = std::to_string(process);
  std::fprintf(stderr, "\nthe stacks of %s\n", id.c_str());
  std::fflush(stderr);
  if (std::system(("timeout 20 eu-stack -n 24 -p " + id + " 1>&2").c_str()) != 0)
    std::fputs("  eu-stack (package elfutils) could not show the stacks\n", stderr);
}

// What the threads of a family have had of the processors.
struct delays {
  double longest = 0;                    // that one thread has waited for one, in seconds
  double ran = 0;                        // all of them together
  std::map<pid_t, std::string> wanting;  // threads that want one now: how long they have run
};

delays delays_of(const std::vector<pid_t>& family) {
  delays found;
  for (const pid_t process : family) {
    const std::string tasks = "/proc/" + std::to_string(process) + "/task";
    for (const pid_t task : numbers_in(tasks)) {
      const std::string thread = tasks + "/" + std::to_string(task);
      const std::string state = first_line(thread + "/stat");
      std::ifstream told(thread + "/schedstat");
      std::string ran;
      double delay = 0;  // nanoseconds, both
      told >> ran >> delay;
      found.ran += std::atof(ran.c_str()) * 1e-9;
      found.longest = std::max(found.longest, delay * 1e-9);
      const std::size_t name_ends = state.rfind(')');
      if (name_ends != std::string::npos && state.compare(name_ends, 3, ") R") == 0)
        found.wanting[task] = ran;
    }
  }
  return found;
}

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double processors() {
  cpu_set_t allowed;
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

// How many of `seconds` a test has left that began then; 0: none.
double left(pid_t process, int seconds, double begun) {
  const double took = now() - begun;
  std::vector<pid_t> family;
  add_family(process, family);
  const delays before = delays_of(family);
  const timespec look = {0, 200'000'000};
  ::nanosleep(&look, nullptr);
  const delays after = delays_of(family);
  const double at_least = after.ran / processors();  // nobody else has had these
  if (at_least >= seconds) return 0;
  // A wait is in a thread's delay only when it is over.
  for (const auto& [thread, ran] : after.wanting)
    if (const auto found = before.wanting.find(thread);
        found != before.wanting.end() && found->second == ran)
      return 1;
  return std::max(seconds - std::max(took - after.longest, at_least), 0.0);
}

void end_family(pid_t process, int seconds) {
  ::unsetenv("LD_PRELOAD");  // meant for the test, not for eu-stack
  ::unsetenv("LD_LIBRARY_PATH");
  std::fprintf(stderr, "deadline: the test has not ended after %d s; this is where it is:\n",
               seconds);
  std::vector<pid_t> family;
  add_family(process, family);
  for (const pid_t member : family) tell(member);
  for (const pid_t member : family) ::kill(member, SIGSTOP);  // stacks take long where many run
  for (const pid_t member : family) tell_stacks(member);
  for (const pid_t member : family) ::kill(member, SIGKILL);
  std::fprintf(stderr, "deadline: ended after %d s\n", seconds);
}

[[noreturn]] void become(char** command, const sigset_t& mask) {
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::execvp(command[0], command);
  std::perror(command[0]);
  ::_exit(cannot_run);
}

int end_like(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(WTERMSIG(status), SIG_DFL);
  std::raise(WTERMSIG(status));
  return cannot_run;
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 2 ? std::atoi(argv[1]) : 0;
  if (seconds <= 0) {
    std::fputs("usage: deadline SECONDS COMMAND [ARGUMENT...]\n", stderr);
    return 2;
  }
  if (!is_all_preloaded()) return not_preloaded;
  sigset_t child_ended, before;
  ::sigemptyset(&child_ended);
  ::sigaddset(&child_ended, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_ended, &before);

  const pid_t child = ::fork();
  if (child < 0) return std::perror("deadline: fork"), cannot_run;
  if (child == 0) become(argv + 2, before);

  const double begun = now();
  timespec limit = {seconds, 0};
  for (int status;;) {
    if (::waitpid(child, &status, WNOHANG) == child) return end_like(status);
    if (::sigtimedwait(&child_ended, nullptr, &limit) < 0 && errno == EAGAIN) {
      if (const double more = left(child, seconds, begun); more > 0) {
        limit.tv_sec = static_cast<time_t>(more) + 1;
        continue;
      }
      end_family(child, seconds);
      ::waitpid(child, &status, 0);
      return took_too_long;
    }
  }
}
