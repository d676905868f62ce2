// hardware.h -- `htm`: transactions run in hardware transactions, uninstrumented, where they
// fit.
//
// Source        Lev, Moir & Nussbaum, "PhTM: phased transactional memory", TRANSACT 2007. How we
//               deviate: one count of running software transactions instead of named phases.
//
// A hardware transaction reads regime::word and regime::software when it begins: who wants to run
// alone, or in software, or not to have hardware transactions at all, changes one of them and so
// aborts it. So the kinds never run together, any algorithm may be the fall-back, and a hardware
// transaction need not show itself: nobody has to wait for it.
#pragma once

#include "tm/core/regime.h"
#include "tm/core/transaction.h"

namespace syncopate::tm {

enum class start : unsigned char { in_hardware, in_software, alone };

// Whether the transaction may be tried in hardware: where it is an outermost one's first attempt.
[[nodiscard]] inline bool fits_hardware(u32 properties) noexcept {
  constexpr u32 wanted = uninstrumented_code | has_no_abort;
  return (properties & (wanted | goes_irrevocable)) == wanted;
}

// Returns how the transaction has to run; in_hardware: it now does. Returns also later, a second
// time, when the hardware transaction aborts and is not worth another try. Requires:
// fits_hardware(), and that the thread is not active.
start start_in_hardware(transaction* tx) noexcept;

void commit_in_hardware(transaction* tx) noexcept;

// Aborts the hardware transaction; it goes on in software, or alone.
[[noreturn]] void leave_hardware(bool alone) noexcept;

}  // namespace syncopate::tm
