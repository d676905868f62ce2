// stm_lock.cpp -- STAMP's transactions as critical sections under one global lock: the platform's
// mutex or, with STM_ELIDED, the lock that Yoo et al. elide, five attempts before it is taken.
#include "stm.h"

#include "../../sections.h"
#include "regions.h"
#include "result_line.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace {

namespace machine = syncopate::machine;

#ifdef STM_ELIDED
workloads::elided_lock& the_lock() { return workloads::program.lock; }
#else
alignas(128) std::mutex global;
std::mutex& the_lock() { return global; }
#endif

workloads::stamp::regions all;

[[gnu::destructor]] void at_end() { workloads::stamp::print_result(all.seconds(), 0, 0); }

}  // namespace

void stm_enter(long thread) {
  all.enter(workloads::stamp::seed(), static_cast<std::uint32_t>(thread));
}
void stm_leave() { all.leave(); }

void stm_begin() { the_lock().lock(); }
void stm_end() { the_lock().unlock(); }

void stm_restart() {
#ifdef STM_ELIDED
  if (machine::htm::active()) machine::htm::abort<1>();
#endif
  // Under the lock what the program has read cannot have changed: it would restart forever.
  std::fputs("stm: a transaction that runs alone wants to restart\n", stderr);
  std::abort();
}
