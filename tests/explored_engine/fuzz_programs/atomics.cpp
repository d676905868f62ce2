// Atomic variables of all sizes and faces, fences, and plain cells.
#include <sched.h>
#include <thread>

#include "objects.h"

std::atomic<int> variables[2];
int cells[2];

namespace {

struct two {
  long first, second;
};

constexpr int succeeded = 1000;

std::atomic<float> number;
alignas(4) int referred[2];
alignas(16) std::atomic<two> pair;

void notify_waiters(const step& s) {
  if (s.choice != 0) variables[s.variable].notify_one();
  else variables[s.variable].notify_all();
}

int digits(two of) { return int(of.first * 10 + of.second); }

}  // namespace

namespace operations {

int load(const step& s) { return variables[s.variable].load(load_orders[s.order]); }

int store(const step& s) {
  variables[s.variable].store(s.value, store_orders[s.order]);
  return 0;
}

int add(const step& s) { return variables[s.variable].fetch_add(s.value, change_orders[s.order]); }

int exchange(const step& s) {
  return variables[s.variable].exchange(s.value, change_orders[s.order]);
}

int compare_exchange(const step& s) {
  int found = s.expected;
  const bool changed = variables[s.variable].compare_exchange_strong(
      found, s.value, change_orders[s.order], failure_orders[s.choice]);
  return changed ? succeeded : found;
}

int weak_compare_exchange(const step& s) {
  int found = s.expected;
  const bool changed = variables[s.variable].compare_exchange_weak(
      found, s.value, change_orders[s.order], failure_orders[s.choice]);
  return changed ? succeeded : found;
}

int fence(const step& s) {
  std::atomic_thread_fence(fence_orders[s.order]);
  return 0;
}

int raise_to(const step& s) {
  std::atomic<int>& highest = variables[s.variable];
  int found = highest.load(failure_orders[s.choice]);
  while (found < s.value && !highest.compare_exchange_weak(found, s.value, change_orders[s.order],
                                                           std::memory_order_relaxed))
    std::this_thread::yield();
  return found;
}

int count_down_to_zero(const step& s) {
  std::atomic<int>& left = variables[s.variable];
  int found = left.load(std::memory_order_relaxed);
  while (found > 0 && !left.compare_exchange_weak(found, found - 1, change_orders[s.order],
                                                  failure_orders[s.choice])) {
  }
  return found;
}

int float_add(const step& s) {
  return int(number.fetch_add(float(s.value), change_orders[s.order]));
}

int ref_add(const step& s) {
  return std::atomic_ref<int>(referred[s.variable]).fetch_add(s.value, change_orders[s.order]);
}

int ref_store(const step& s) {
  std::atomic_ref<int>(referred[s.variable]).store(s.value, store_orders[s.order]);
  return 0;
}

int ref_load(const step& s) {
  return std::atomic_ref<int>(referred[s.variable]).load(load_orders[s.order]);
}

int pair_load(const step& s) { return digits(pair.load(load_orders[s.order])); }

int pair_store(const step& s) {
  pair.store({s.value, s.value + 1}, store_orders[s.order]);
  return 0;
}

int pair_compare_exchange(const step& s) {
  two found = pair.load(failure_orders[s.choice]);
  const two wanted{found.first + 1, s.value};
  const bool changed = pair.compare_exchange_strong(found, wanted, change_orders[s.order],
                                                    std::memory_order_relaxed);
  return changed ? succeeded : digits(found);
}

int wait_for_value(const step& s) {
  variables[s.variable].wait(0, load_orders[s.order]);
  return load_relaxed(s);
}

int notify(const step& s) {
  notify_waiters(s);
  return 0;
}

int store_and_notify(const step& s) {
  variables[s.variable].store(s.value + 1, store_orders[s.order]);
  notify_waiters(s);
  return 0;
}

int poll_twice(const step& s) {
  int times = 0;
  while (times < 2 && variables[s.variable].load(load_orders[s.order]) == 0) {
    std::this_thread::yield();
    ++times;
  }
  return times;
}

int yield(const step&) {
  sched_yield();
  return 0;
}

int cell_read(const step& s) { return cells[s.variable]; }

int cell_write(const step& s) {
  cells[s.variable] = s.value;
  return 0;
}

int cell_read_if_told(const step& s) {
  if (variables[s.variable].load(load_orders[s.order]) == 0) return -1;
  return 10 + cells[s.variable];
}

}  // namespace operations

void tell_ends_of_atomics() {
  for (const std::atomic<int>& each : variables) tell_end(each.load());
  for (const int each : cells) tell_end(each);
  for (const int each : referred) tell_end(each);
  tell_end(long(number.load()));
  tell_end(digits(pair.load()));
}
