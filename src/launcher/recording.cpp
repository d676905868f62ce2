#include "launcher/recording.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "launcher/preparation.h"

namespace syncopate::launcher {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t first_look_ns = second;  // PERIOD of syncopate/records/looks.py

// Those that are passed on; a terminal sends the first two to the whole foreground group.
constexpr int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

sigset_t watched_signals() {
  sigset_t result;
  sigemptyset(&result);
  for (const int number : forwarded) sigaddset(&result, number);
  sigaddset(&result, SIGCHLD);
  return result;
}

// In the new process. Writes to `failed` when the program does not start.
[[noreturn]] void become(const std::string& path, char** words, environment& environment,
                         const sigset_t& mask, sighandler_t of_children, int failed) {
  std::signal(SIGCHLD, of_children);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execve(path.c_str(), words, environment.for_exec().data());
  const char said = 1;
  [[maybe_unused]] const ssize_t written = write(failed, &said, 1);
  _exit(1);
}

// Whether the pipe's other end was closed without a word, as a program's start does.
bool closed_silently(int pipe) {
  char said;
  ssize_t got;
  do got = read(pipe, &said, 1);
  while (got < 0 && errno == EINTR);
  return got == 0;
}

}  // namespace

std::int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * second + now.tv_nsec;
}

child start(const std::string& path, char** words, environment& environment) {
  child result;
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) return result;
  const sigset_t watched = watched_signals();
  sigprocmask(SIG_BLOCK, &watched, &result.before);
  const sighandler_t inherited = std::signal(SIGCHLD, SIG_DFL);  // ignored, it leaves no status
  result.begun_ns = monotonic_ns();
  const pid_t process = fork();
  if (process == 0) become(path, words, environment, result.before, inherited, pipe[1]);
  close(pipe[1]);
  if (process > 0 && closed_silently(pipe[0])) result.process = process;
  else if (process > 0) waitpid(process, nullptr, 0);
  close(pipe[0]);
  if (result.process >= 0) return result;
  std::signal(SIGCHLD, inherited);
  sigprocmask(SIG_SETMASK, &result.before, nullptr);
  return result;
}

void wait_for_the_end(child& running) {
  const sigset_t watched = watched_signals();
  while (!running.status) {
    int status;
    siginfo_t event;
    if (waitpid(running.process, &status, WNOHANG) == running.process) running.status = status;
    else if (sigwaitinfo(&watched, &event) > 0 && event.si_signo != SIGCHLD && event.si_code <= 0)
      kill(running.process, event.si_signo);
  }
}

void wait_a_while(child& running) {
  const sigset_t watched = watched_signals();
  const std::int64_t until = running.begun_ns + first_look_ns;
  for (;;) {
    const std::int64_t left = until - monotonic_ns();
    if (left <= 0) return;
    const timespec time{static_cast<time_t>(left / second), static_cast<long>(left % second)};
    siginfo_t event;
    if (sigtimedwait(&watched, &event, &time) < 0) continue;
    if (event.si_signo != SIGCHLD) {
      if (event.si_code > 0) continue;  // what the terminal sends reached the program itself
      kill(getpid(), event.si_signo);
      return;
    }
    int status;
    if (waitpid(running.process, &status, WNOHANG) == running.process) {
      running.ended_ns = monotonic_ns();
      running.status = status;
      return;
    }
  }
}

void leave_as(const child& ended) {
  if (!WIFSIGNALED(*ended.status)) std::exit(WEXITSTATUS(*ended.status));
  const int number = WTERMSIG(*ended.status);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the program has dumped core if it was to
  if (number != SIGKILL && number != SIGSTOP) {
    std::signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
  }
  kill(getpid(), number);
  std::exit(128 + number);
}

}  // namespace syncopate::launcher
