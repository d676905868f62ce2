// native_time.h -- where the process's own CPU time goes while a program runs on a machine:
// what the machine sees, the machine itself, and libraries that it cannot see.
//
// A profiling timer samples the code address; so figures differ from run to run, and a simulation
// is the same with and without it. It takes a real-time signal, SIGRTMAX - 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::instrument {

struct native_time {
  struct library {
    std::string name;
    double seconds = 0;
  };

  double seconds = 0;  // CPU time in all
  std::uint64_t samples = 0;
  double program = 0;              // of these: instrumented code, and all of the executable
  double machine = 0;              // the machine's own work
  std::vector<library> libraries;  // the program's calls of other code, most first

  [[nodiscard]] double not_seen() const noexcept {
    double sum = 0;
    for (const library& each : libraries) sum += each.seconds;
    return sum;
  }
};

// Does nothing where the system has no such timers. `charges`: what samples find in code that the
// machine cannot see is also collected for native_charge().
void begin_native_time(bool charges = false);

// Processor time, in nanoseconds, that samples have found in code which the machine cannot see, not
// charged yet: whoever sets it to 0 charges it to the thread that runs. Read at each access.
inline constinit volatile std::uint64_t native_charge = 0;

// Requires: begin_native_time() was called. Libraries that were loaded since count as one.
native_time end_native_time();

}  // namespace syncopate::instrument
