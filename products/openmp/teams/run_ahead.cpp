// run_ahead.cpp -- who may run ahead, and what became of it.

#include "openmp/teams/run_ahead.h"

#include <syncopate/wait/competition.h>

#include "openmp/teams/team.h"
#include "record/recorder.h"

namespace syncopate::openmp {
namespace {

using waits::speculation;

thread_local constinit record::speculation_counts runs [[gnu::tls_model("initial-exec")]] = {};

// Of the thread's own team one knows before its master has counted it.
bool may_begin(const void*) noexcept {
  const bool crowded = current->threads > machine::processors() || oversubscribed();
  if (!crowded && !waits::others.is_there()) return true;
  ++runs.left_out;
  return false;
}

void has_ended(const void*, const machine::htm::status& how) noexcept {
  record::count_run(runs, how);
}

constexpr waits::speculation_keeper keeper{may_begin, has_ended};

}  // namespace

void configure_running_ahead() noexcept {
  if constexpr (!machine::is_modeled) speculation::use_ordinary_transactions(true);
  speculation::kept_by(keeper);
}

void record_runs(std::uint32_t barrier) noexcept {
  const record::speculation_counts done = runs;
  runs = {};
  if (done.runs + done.left_out != 0) record::speculated(barrier, done);
}

}  // namespace syncopate::openmp
