// yield.cpp -- L4: libomp's offers of its processor, while its threads wait for each other at the
// start and the end of regions.
//
// Where its threads outnumber the processors, libomp calls sched_yield() between two looks at what
// it waits for. That is best among its own threads. A foreign thread that computes keeps what it is
// given for a time slice, some milliseconds, of which a region takes one or more. So once that has
// happened, for a while (wait/plan.h) the thread sleeps some microseconds instead: the kernel then
// lets it run again as soon as it wakes.
//
// Calls of anybody else are passed on.

#include <syncopate/machine.h>
#include <syncopate/wait/plan.h>

#include <ctime>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "openmp/export.h"
#include "openmp/runtime.h"

namespace {

using namespace syncopate;

// A yield among its own threads does not take so many sleeps' price: wait/adaptive.h.
constexpr std::uint64_t foreign_factor = 16;
constexpr long nap_nanoseconds = 3000;

// Of all threads: whether there is somebody else is the same for each, and costs a slice to learn.
constinit waits::yield_history yields;

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
  if (!yields.may_yield()) return nap();
  const std::uint64_t before = machine::ticks();
  yield_to_any();
  if (machine::ticks() - before > foreign_factor * machine::wake_latency()) yields.avoid();
  else yields.paid();
}

}  // namespace

SYNCOPATE_OPENMP_EXPORT int sched_yield() noexcept {
  if (!openmp::is_in_llvm_runtime(__builtin_return_address(0)))
    return static_cast<int>(yield_to_any());
  yield_to_peers();
  return 0;
}
