// trial.h -- runs one doubtful instruction sequence where it can do no harm.
//
// The child process shares nothing with its parent but one page for the answer; an instruction
// that raises SIGILL ends the child alone. It is made by the raw clone call without an exit
// signal, so the host program's SIGCHLD handler and fork handlers never learn of it; and past the C
// library, whose names the preload library may have taken.
#pragma once

#include <syncopate/machine/system_call.h>

#include <cerrno>
#include <csignal>
#include <new>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace syncopate::machine {

enum class trial_end { completed, illegal_instruction, other_signal, not_run };

// Runs body(answer) in a child process and copies the answer back. Blocking.
// Requires: body is async-signal-safe and ends by itself; Answer is trivially copyable.
template <class Answer, class Body>
[[gnu::visibility("hidden")]] trial_end run_trial(Answer& answer, Body body) noexcept {
  void* page =
      ::mmap(nullptr, sizeof(Answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return trial_end::not_run;
  auto* shared = new (page) Answer(answer);

  const long child = system_call(SYS_clone);
  if (child == 0) {
    struct sigaction dfl = {};
    dfl.sa_handler = SIG_DFL;
    ::sigaction(SIGILL, &dfl, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const rlimit no_core = {0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    body(*shared);
    system_call(SYS_exit_group, 0);
  }

  trial_end end = trial_end::not_run;
  if (child > 0) {
    int status = 0;
    while (::waitpid(static_cast<pid_t>(child), &status, __WALL) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) end = trial_end::completed;
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGILL)
      end = trial_end::illegal_instruction;
    else end = trial_end::other_signal;
    answer = *shared;
  }
  ::munmap(page, sizeof(Answer));
  return end;
}

}  // namespace syncopate::machine
