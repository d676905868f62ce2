// contention.h -- what a transaction does between failing and beginning again.
//
// Source        back-off: Herlihy, Luchangco, Moir & Scherer, PODC 2003 ("polite"); hourglass:
//               Liu & Spear, "Toxic Transactions", TRANSACT 2011; serializing after a number of
//               failures: GCC's libitm.
#pragma once

#include "tm/core/transaction.h"

#include <cstdio>

namespace syncopate::tm::contention {

enum class manager { none, backoff, hourglass, serialize };

// What comes next for the transaction.
enum class verdict { again, alone };

// Waits as the manager wants after `tx->attempts` failures. Requires: not active.
verdict after_failure(transaction* tx) noexcept;

// To be called when a transaction that failed has committed or given up.
void after_success(transaction* tx) noexcept;

// Returns false when no manager has this name.
bool choose(const char* name) noexcept;
void list(std::FILE* to) noexcept;

}  // namespace syncopate::tm::contention
