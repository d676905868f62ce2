// libc_fork.cpp -- fork(), where the machine cannot be in two processes.
#include <cerrno>

#include <unistd.h>

#include "model/front/engine.h"
#include "model/front/libc/file_waits.h"
#include "model/front/libc/signals.h"
#include "model/front/program/options.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

using namespace syncopate;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {

bool is_refused(const char* name) {
  if (!instrument::in_program()) return false;
  if (engine::may_fork()) {
    instrument::note_child();
    return false;
  }
  const instrument::engine_scope inside;
  instrument::complain("%s() failed: a program on this machine cannot fork", name);
  errno = ENOSYS;
  return true;
}

pid_t in_child(pid_t child) {
  if (child == 0 && instrument::in_program()) instrument::forget_timers();
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
