//
// Memory order (each tag stands at its site below)
//   [X]  relaxed: what counts is what the hardware transaction reads, and it is ordered as a whole.
#include "tm/core/hardware.h"

#include "tm/core/backoff.h"
#include "tm/core/engine.h"

namespace syncopate::tm {
namespace {

enum abort_code : unsigned char { not_now = 1, software_please = 2, alone_please = 3 };

constexpr u32 tries = 5;  // Intel's optimization manual: a few, with the lock free again
// A transaction that aborts without a reason goes on alone: it has met memory that is not there
// yet, or a function that the dynamic linker has to look up, for which uninstrumented code must
// run. Not if that has not helped so many times in a row.
constexpr u32 helped_alone = 8;
// A thread whose transactions never commit in hardware tries once in so many.
constexpr u32 hopeless_after = 64, try_one_in = 256;

// The thread sanitizer does not know how the processor orders its transactions.
#if defined(__SANITIZE_THREAD__)
constexpr bool ordered = machine::is_modeled;
#else
constexpr bool ordered = true;
#endif

// Relaxed: what counts is what a hardware transaction reads, and it is ordered as a whole.
[[gnu::always_inline]] inline bool may_run() noexcept {
  const address word = now.word.load(std::memory_order_relaxed);  // [X]
  return (word == regime::open || word == regime::in_hardware) &&
         now.software.load(std::memory_order_relaxed) == 0;  // [X]
}

}  // namespace

start start_in_hardware(transaction* tx) noexcept {
  if (!ordered) return start::in_software;
  if (tx->hardware_failures >= hopeless_after && tx->hardware_failures++ % try_one_in != 0)
    return start::in_software;
  start otherwise = start::in_software;
  for (u32 attempt = 0; attempt < tries; ++attempt) {
    for (backoff p; !may_run() && !p.is_over();) p.wait();
    const machine::htm::status status = machine::htm::begin();
    if (status.started()) {
      if (!may_run()) machine::htm::abort<not_now>();
      tx->set(1, mode::hardware, !observer::watches);
      tx->ops = &alone_operations;
      return start::in_hardware;
    }
    observer::left_hardware(tx, status);
    if (status.why == machine::htm::cause::explicit_) {
      if (status.code == not_now) continue;
      if (status.code == alone_please) otherwise = start::alone;
      break;
    }
    if (status.may_retry) continue;
    if (status.why == machine::htm::cause::other && tx->hardware_failures < helped_alone)
      otherwise = start::alone;
    break;
  }
  ++tx->hardware_failures;
  machine::htm::fell_back();
  return otherwise;
}

void commit_in_hardware(transaction* tx) noexcept {
  machine::htm::commit();
  ++tx->counts.hardware;
  tx->hardware_failures = 0;
}

void leave_hardware(bool alone) noexcept {
  if (alone) machine::htm::abort<alone_please>();
  else machine::htm::abort<software_please>();
  __builtin_unreachable();
}

}  // namespace syncopate::tm
