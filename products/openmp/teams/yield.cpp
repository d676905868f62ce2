// yield.cpp -- libomp's offers of its processor, while its threads wait for each other at the
// start and the end of regions.
//
// Where its threads outnumber the processors, libomp calls sched_yield() between two looks at what
// it waits for. That is best among its own threads, but not on a processor where a foreign thread
// computes (wait/foreign_load.h): there they move to another one, and where no other is left they
// sleep some microseconds instead. What they wait for libomp knows alone; who begins a region next
// has waited for that.
//
// A team that does not outnumber the processors yields as without us where others compete for all
// of them: moved to one processor it would wait for itself, and naps take processor time that a
// yield leaves to others. *Measured* (8,192 regions of 2 threads beside compilers, 7 interleaved
// rounds, medians and ranges in seconds): libomp 1.5 (0.3 to 42), with naps 8.9 (0.4 to 31) and 6
// times the processor time, so 3.1 (0.5 to 6) and 1.3 times.
//
// Calls of anybody else are passed on.

#include <syncopate/machine.h>
#include <syncopate/wait/foreign_load.h>

#include <ctime>
#include <utility>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "openmp/base/export.h"
#include "openmp/runtime/caller.h"
#include "openmp/teams/team.h"
#include "openmp/teams/yield.h"

namespace {

using namespace syncopate;

constexpr long nap_nanoseconds = 3000;

long yield_to_any() noexcept { return ::syscall(SYS_sched_yield); }

// The kernel adds 50 microseconds unless the thread asks for precision; the program may have.
void nap() noexcept {
  const int slack = ::prctl(PR_GET_TIMERSLACK);
  if (slack > 1) ::prctl(PR_SET_TIMERSLACK, 1ul);
  const timespec duration{0, nap_nanoseconds};
  (void)::syscall(SYS_nanosleep, &duration, nullptr);
  if (slack > 1) ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));
}

void yield_to_peers() noexcept {
  waits::peer_yield ours;
  openmp::slow_yield = {};
  if (waits::others.is_there() && !openmp::oversubscribed()) (void)yield_to_any();
  else if (!ours.offer()) nap();
  else if (__builtin_expect(ours.took_long(), 0)) openmp::slow_yield = ours;
}

}  // namespace

namespace syncopate::openmp {
thread_local constinit waits::peer_yield slow_yield;
void slow_yield_was_last() noexcept { std::exchange(slow_yield, {}).was_last(); }
}  // namespace syncopate::openmp

SYNCOPATE_OPENMP_EXPORT int sched_yield() noexcept {
  if (!openmp::is_in_llvm_runtime(__builtin_return_address(0)))
    return static_cast<int>(yield_to_any());
  yield_to_peers();
  return 0;
}
