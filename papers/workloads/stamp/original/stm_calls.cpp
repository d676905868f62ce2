// stm_calls.cpp -- STAMP's transactions as calls of libitm's interface: what is counted of them.
// Which algorithm runs is libitm's choice (SYNCOPATE_TM); tl2 where it is in the program itself.
#define STM_CALLS
#include "stm.h"

#include "regions.h"
#include "result_line.h"

#include <atomic>
#include <cstdlib>

namespace {

constexpr std::uint32_t cancelled = 16;  // a_abortTransaction

workloads::stamp::regions all;
std::atomic<std::uint64_t> attempts{0}, commits{0};
struct {
  std::uint64_t attempts, commits;
} thread_local constinit here;

[[gnu::constructor(101)]] void choose_algorithm() { ::setenv("SYNCOPATE_TM", "tl2", 0); }
[[gnu::destructor]] void at_end() {
  workloads::stamp::print_result(all.seconds(), attempts.load(), commits.load());
}

}  // namespace

void stm_enter(long thread) {
  all.enter(workloads::stamp::seed(), static_cast<std::uint32_t>(thread));
}
void stm_leave() {
  all.leave();
  attempts += here.attempts;
  commits += here.commits;
  here = {};
}

int stm_is_cancelled(std::uint32_t actions) {
  if (actions & cancelled) return 1;
  ++here.attempts;
  return 0;
}
void stm_committed() { ++here.commits; }
