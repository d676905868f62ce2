// What the steps of all files share: the operations, memory orders, two atomic and two plain
// variables.
#pragma once

#include <atomic>
#include <ctime>
#include <mutex>

#include "plan.h"

namespace operations {
#define OPERATION(name) int name(const step&);
#include "operations.def"
#undef OPERATION
}  // namespace operations

extern std::atomic<int> variables[2];
extern int cells[2];  // plain: races on them are found, and found by each search

extern std::timed_mutex outer;  // sections hold it, and who begins a thread in one

inline constexpr std::memory_order change_orders[orders] = {
    std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_release,
    std::memory_order_acq_rel, std::memory_order_seq_cst, std::memory_order_seq_cst};
inline constexpr std::memory_order load_orders[orders] = {
    std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_acquire,
    std::memory_order_relaxed, std::memory_order_seq_cst, std::memory_order_seq_cst};
inline constexpr std::memory_order store_orders[orders] = {
    std::memory_order_relaxed, std::memory_order_release, std::memory_order_release,
    std::memory_order_relaxed, std::memory_order_seq_cst, std::memory_order_seq_cst};
inline constexpr std::memory_order fence_orders[orders] = {
    std::memory_order_acq_rel, std::memory_order_acquire, std::memory_order_release,
    std::memory_order_acq_rel, std::memory_order_seq_cst, std::memory_order_seq_cst};
inline constexpr std::memory_order failure_orders[choices] = {
    std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_seq_cst};

inline int load_relaxed(const step& s) {
  return variables[s.variable].load(std::memory_order_relaxed);
}

// What the cell held, which is then written.
inline int swap_cell(const step& s) {
  const int old = cells[s.variable];
  cells[s.variable] = s.value;
  return old;
}

int run(const step& s);

// A moment that has not come, and comes when the machine lets it.
timespec soon(clockid_t clock);

void start_locks();
void start_meetings(const plan& p);
void start_threads();
void start_c11();

void tell_ends_of_atomics();
void tell_ends_of_once();
void tell_ends_of_conditions();
void tell_ends_of_meetings();
void tell_ends_of_nodes();
