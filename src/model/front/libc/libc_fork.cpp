// libc_fork.cpp -- fork(), where the machine cannot be in two processes; exec(), where the process
// is the machine's, which runs the program again.
#include <cerrno>
#include <cstdarg>
#include <vector>

#include <unistd.h>

#include "model/front/engine.h"
#include "model/front/libc/file_waits.h"
#include "model/front/libc/signals.h"
#include "model/front/program/identity.h"
#include "model/front/program/options.h"
#include "model/front/pthread/real.h"
#include "model/front/pthread/robust_holds.h"
#include "model/front/scope.h"

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {

bool is_refused(const char* name) {
  if (!instrument::in_program()) return false;
  if (engine::may_fork()) {
    ++instrument::children;
    instrument::note_child();
    return false;
  }
  const instrument::engine_scope inside;
  instrument::complain("%s() failed: a program on this machine cannot fork", name);
  errno = ENOSYS;
  return true;
}

bool stays(const char* name) {
  if (!instrument::in_program() || !engine::runs_again()) return false;
  const instrument::engine_scope inside;
  instrument::complain("%s() failed: an explored program cannot become another one", name);
  errno = ENOSYS;
  return true;
}

using words = std::vector<char*>;

// The arguments from `first` to the null pointer.
words collected(const char* first, std::va_list& rest) {
  words all;
  for (const char* each = first; each != nullptr; each = va_arg(rest, const char*))
    all.push_back(const_cast<char*>(each));
  all.push_back(nullptr);
  return all;
}

pid_t in_child(pid_t child) {
  if (child != 0 || !instrument::in_program()) return child;
  instrument::become_child();
  instrument::forget_timers();
  instrument::forget_robust_holds();  // they are its parent's
  return child;
}

}  // namespace

SYNCOPATE_EXPORT pid_t fork() noexcept {
  return is_refused("fork") ? -1 : in_child(SYNCOPATE_REAL(fork)());
}
SYNCOPATE_EXPORT pid_t _Fork() noexcept {
  return is_refused("_Fork") ? -1 : in_child(SYNCOPATE_REAL(_Fork)());
}
// A child that shares memory until it executes another program must not return from here.
SYNCOPATE_EXPORT pid_t vfork() noexcept {
  return is_refused("vfork") ? -1 : in_child(SYNCOPATE_REAL(fork)());
}

#define EXEC(name, parameters, ...)               \
  SYNCOPATE_EXPORT int name parameters noexcept { \
    if (stays(#name)) return -1;                  \
    return SYNCOPATE_REAL(name)(__VA_ARGS__);     \
  }

EXEC(execv, (const char* path, char* const given[]), path, given)
EXEC(execvp, (const char* file, char* const given[]), file, given)
EXEC(execve, (const char* path, char* const given[], char* const names[]), path, given, names)
EXEC(execvpe, (const char* file, char* const given[], char* const names[]), file, given, names)
EXEC(fexecve, (int file, char* const given[], char* const names[]), file, given, names)
EXEC(execveat, (int folder, const char* path, char* const given[], char* const names[], int flags),
     folder, path, given, names, flags)

// (Those that take their arguments one by one come to those above.)
#define EXEC_EACH(name, by)                                                      \
  SYNCOPATE_EXPORT int name(const char* path, const char* first, ...) noexcept { \
    if (stays(#name)) return -1;                                                 \
    std::va_list rest;                                                           \
    va_start(rest, first);                                                       \
    const words given = collected(first, rest);                                  \
    va_end(rest);                                                                \
    return SYNCOPATE_REAL(by)(path, given.data());                               \
  }

EXEC_EACH(execl, execv)
EXEC_EACH(execlp, execvp)

SYNCOPATE_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  if (stays("execle")) return -1;
  std::va_list rest;
  va_start(rest, first);
  const words given = collected(first, rest);
  char* const* const names = va_arg(rest, char* const*);
  va_end(rest);
  return SYNCOPATE_REAL(execve)(path, given.data(), names);
}
