// What runs once.
#include <pthread.h>
#include <mutex>

#include "objects.h"

namespace {

std::once_flag flag;
int sum_of_calls;
pthread_once_t posix_flag = PTHREAD_ONCE_INIT;
int posix_calls;

void called_by_posix() {
  variables[0].fetch_add(7, std::memory_order_relaxed);
  ++posix_calls;
}

}  // namespace

namespace operations {

int call_once(const step& s) {
  std::call_once(flag, [&] {
    sum_of_calls += s.value + 1;
    variables[s.variable].store(s.value, store_orders[s.order]);
  });
  return sum_of_calls;
}

// Whoever comes next calls again.
int call_once_that_throws(const step& s) {
  try {
    std::call_once(flag, [&] {
      variables[s.variable].fetch_add(3, change_orders[s.order]);
      throw 1;
    });
    return sum_of_calls;
  } catch (int) {
    return -1;
  }
}

int posix_once(const step& s) {
  pthread_once(&posix_flag, called_by_posix);
  return load_relaxed(s);
}

int local_static(const step& s) {
  static const int first = variables[s.variable].load(load_orders[s.order]) + 1;
  return first;
}

}  // namespace operations

void tell_ends_of_once() {
  tell_end(sum_of_calls);
  tell_end(posix_calls);
}
