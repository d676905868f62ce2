// recording.h -- the child process that is the recorded program.
#pragma once

#include <sys/types.h>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

#include "launcher/environment.h"

namespace syncopate::launcher {

std::int64_t monotonic_ns();

// A program that was started with the signals blocked that are passed on to it.
struct child {
  pid_t process = -1;
  sigset_t before;  // the mask that we had
  std::int64_t begun_ns = 0, ended_ns = 0;
  std::optional<int> status;  // as waitpid() has it; nothing: it runs
};

// Starts the program. Returns: process -1, with the mask as it was, where it cannot be started.
child start(const std::string& path, char** words, environment& environment);

// Waits until it has ended, until a signal is to be passed on, which is then pending, or until the
// time of the first look.
void wait_a_while(child& running);

// Waits until it has ended, and passes signals on.
void wait_for_the_end(child& running);

// Leaves with the program's exit status; when a signal ended it, by the same signal.
[[noreturn]] void leave_as(const child& ended);

}  // namespace syncopate::launcher
