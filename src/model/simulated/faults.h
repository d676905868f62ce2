// faults.h -- a fault inside a transaction aborts it, as on hardware.
//
// Whoever runs ahead of a lock in a transaction that never commits reads what the lock's holder has
// written by half: null pointers, indices out of bounds, zero divisors.
#pragma once

namespace syncopate::simulated {

// Faults that are no transaction's do to the process what they did before.
void abort_where_transactions_fault();

}  // namespace syncopate::simulated
