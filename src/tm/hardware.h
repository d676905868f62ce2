// hardware.h -- L3: `htm`: transactions run in hardware transactions, uninstrumented, where they
// fit.
//
// Source        Lev, Moir & Nussbaum, "PhTM: phased transactional memory", TRANSACT 2007. How we
//               deviate: one count of running software transactions instead of named phases.
//
// A hardware transaction reads regime::word and regime::software when it begins: who wants to run
// alone, or in software, changes one of them and so aborts it. So the two kinds never run together,
// and any algorithm may be the fall-back.
#pragma once

#include "tm/transaction.h"

namespace syncopate::tm {

// Returns whether the transaction now runs in hardware. Returns false also later, a second time,
// when the hardware transaction aborts and is not worth another try. Requires: active.
bool start_in_hardware(transaction* tx) noexcept;

void commit_in_hardware(transaction* tx) noexcept;

// Aborts the hardware transaction; it goes on in software, or alone.
[[noreturn]] void leave_hardware(bool alone) noexcept;

}  // namespace syncopate::tm
