// adaptive.h -- L3: `auto`: moves between the global lock and an optimistic algorithm.
#pragma once

#include "tm/transaction.h"

namespace syncopate::tm {

// Source        the idea of trying both and keeping the faster: Wang, Kulkarni, Cavazos & Spear, "A
//               transactional memory with automatic performance tuning", TACO 8(4), 2012. Ours
//               compares measured commits per second, so that it needs no model of the workload.
//
// While one thread runs, it runs alone without taking a lock (regime.h). When threads wait for each
// other, all transactions for a few milliseconds run under the optimistic algorithm; whichever way
// committed more in a second stays. The first part of a trial does not count (logs grow, and the
// pages of the ownership records are touched for the first time). Where the two ways are close, the
// mean of some trials decides. Later trials come ever later, so that a program for which optimism
// does not pay loses little.
namespace adaptive {

extern constinit bool on;

// A thread looks at the clock after at most so many of its commits; earlier where they are long.
inline constexpr u32 look_every = 16;

// To be called by a thread that has waited for the mutex and has it.
void consider_optimism() noexcept;
// To be called after a commit of the optimistic algorithm, when tx->look_at commits are reached.
// Requires: the thread is not active.
void consider_lock(transaction* tx) noexcept;

}  // namespace adaptive

// Writes one line of counts to standard error.
void print_statistics() noexcept;

}  // namespace syncopate::tm
