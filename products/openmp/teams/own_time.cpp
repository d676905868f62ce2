// own_time.cpp -- see own_time.h.

#include "openmp/teams/own_time.h"

#include <syncopate/machine.h>

#include "record/internal.h"
#include "record/recorder.h"
#include "record/rows.h"

namespace syncopate::openmp {
namespace {

// What the kernel knows of the thread, asked at times: it takes about a microsecond.
struct look {
  std::uint64_t at = 0;
  record::usage used;
};
thread_local constinit look last [[gnu::tls_model("initial-exec")]];

// Asks again if the last look is so long ago that this one costs no more than a fiftieth. Returns
// what was used since that one.
record::usage look_again(std::uint64_t now) noexcept {
  if (now - last.at < record::milliseconds(1) / 20) return {};
  const look before = last;
  last = {now, record::thread_usage()};
  return last.used - before.used;
}

}  // namespace

void own_time::begin() noexcept {
  since = machine::ticks();
  waited = record::waited_so_far();
  (void)look_again(since);
}

std::uint64_t own_time::until(std::uint64_t now) const noexcept {
  const std::uint64_t passed = now - since, waits = record::waited_so_far() - waited;
  const std::uint64_t own = passed > waits ? passed - waits : 0;
  const record::usage used = look_again(now);
  // Since the last look, which was at the beginning, or shortly before.
  return used.preemptions == 0 ? own : record::on_processor(used.cpu_ns, own);
}

}  // namespace syncopate::openmp
