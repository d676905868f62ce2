#include "tm/hardware.h"

#include "tm/engine.h"
#include "tm/parts/patience.h"
#include "tm/regime.h"

namespace syncopate::tm {
namespace {

enum abort_code : unsigned char { not_now = 1, software_please = 2, alone_please = 3 };

constexpr u32 tries = 5;  // Intel's optimization manual: a few, with the lock free again
// A thread whose transactions never commit in hardware tries once in so many.
constexpr u32 hopeless_after = 64, try_one_in = 256;

bool can_run(const transaction* tx) noexcept {
  constexpr u32 wanted = uninstrumented_code | has_no_abort;
  return (tx->properties & wanted) == wanted && (tx->properties & goes_irrevocable) == 0 &&
         tx->attempts == 0;
}

}  // namespace

bool start_in_hardware(transaction* tx) noexcept {
  if (!can_run(tx)) return false;
  if (tx->hardware_failures >= hopeless_after && tx->hardware_failures++ % try_one_in != 0)
    return false;
  for (u32 attempt = 0; attempt < tries; ++attempt) {
    for (patience p; now.software.load(std::memory_order_relaxed) != 0 && !p.is_over();) p.wait();
    const machine::htm::status status = machine::htm::begin();
    if (status.started()) {
      if (now.word.load(std::memory_order_relaxed) != regime::open ||
          now.software.load(std::memory_order_relaxed) != 0)
        machine::htm::abort<not_now>();
      tx->how = mode::hardware;
      tx->ops = &alone_operations;
      return true;
    }
    observer::left_hardware(tx, status);
    if (status.why == machine::htm::cause::explicit_ && status.code != not_now) break;
    if (!status.may_retry && status.why != machine::htm::cause::explicit_) break;
  }
  ++tx->hardware_failures;
  machine::htm::fell_back();
  return false;
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
