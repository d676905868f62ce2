// runaway.h -- notices a program that computes and computes, and does nothing that its machine
// sees: no access, no call. A machine looks at its own limits in such calls only.
#pragma once

#include <csignal>
#include <cstdint>

#include "model/front/engine.h"

namespace syncopate::instrument {

struct runaway_watch {
  // Never 0; another number after whatever the machine saw. Called in a signal handler while the
  // program runs.
  std::uint64_t (*seen)() = nullptr;
  // The program is at `where`; does not return. Called in a signal handler on a stack of its own,
  // inside the machine. may_report: no lock of the C library can be held.
  void (*stop)(engine::place where, bool may_report) = nullptr;
  // The running thread goes round for good at `where`, in a jump to itself: what compilers make of
  // `while (!ready) {}` once they have read the flag. It will do nothing else. Does not return.
  // Called like stop. May be left out.
  void (*loops)(engine::place where) = nullptr;
};

// From now on calls watch.stop once the process has used so many seconds of processor time since
// `seen` last changed, in the program or its libraries. Where the system has no such timers, does
// nothing. Takes SIGURG, which does nothing in programs that do not ask for it.
void watch_for_runaway(std::uint64_t seconds, const runaway_watch& watch);

// Once so many seconds have passed: sets time_is_over, at which a machine is to look. Calls the
// watch's stop if nothing has been seen since, a second later in the program, ten seconds later
// elsewhere. After watch_for_runaway().
void watch_for_deadline(double seconds);
inline constinit volatile std::sig_atomic_t time_is_over = 0;

}  // namespace syncopate::instrument
