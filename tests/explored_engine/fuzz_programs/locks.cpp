// Locks of all kinds, tried, timed and held.
#include <pthread.h>
#include <chrono>
#include <mutex>
#include <shared_mutex>

#include "objects.h"

using namespace std::chrono_literals;

std::timed_mutex outer;

namespace {

constexpr int not_taken = -1;

std::mutex inner;  // taken by children, whose parents may hold any other lock
std::recursive_mutex recursive;
std::shared_mutex shared;
std::shared_timed_mutex shared_timed;
pthread_rwlock_t posix = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin;

int take_posix_to_read(unsigned how) {
  if (how == 0) return pthread_rwlock_rdlock(&posix);
  if (how == 1) return pthread_rwlock_tryrdlock(&posix);
  const timespec until = soon(CLOCK_REALTIME);
  return pthread_rwlock_timedrdlock(&posix, &until);
}

int take_posix_to_write(unsigned how) {
  if (how == 0) return pthread_rwlock_wrlock(&posix);
  if (how == 1) return pthread_rwlock_trywrlock(&posix);
  const timespec until = soon(CLOCK_MONOTONIC);
  return pthread_rwlock_clockwrlock(&posix, CLOCK_MONOTONIC, &until);
}

template <class Held>
int swap_cell_if(const Held& held, const step& s) {
  return held ? swap_cell(s) : not_taken;
}

template <class Held>
int run_child_if(const Held& held, const step& s) {
  return held ? run(*s.child) : not_taken;
}

}  // namespace

namespace operations {

int section(const step& s) {
  const std::lock_guard held(outer);
  const int old = s.choice != 0 ? swap_cell(s) : cells[s.variable];
  return old + 100 * run(*s.child);
}

int inner_section(const step& s) {
  const std::lock_guard held(inner);
  return swap_cell(s);
}

int try_section(const step& s) {
  return swap_cell_if(std::unique_lock(outer, std::try_to_lock), s);
}

int timed_section(const step& s) { return swap_cell_if(std::unique_lock(outer, 1us), s); }

int recursive_section(const step& s) {
  const std::lock_guard once(recursive);
  const std::lock_guard twice(recursive);
  return swap_cell(s);
}

int spin_section(const step& s) {
  pthread_spin_lock(&spin);
  const int old = swap_cell(s);
  pthread_spin_unlock(&spin);
  return old;
}

int shared_section(const step& s) {
  if (s.choice == 0) {
    const std::shared_lock held(shared);
    return load_relaxed(s) + 10 * run(*s.child);
  }
  const std::shared_lock held(shared_timed);
  return load_relaxed(s) + 10 * run(*s.child);
}

int exclusive_section(const step& s) {
  if (s.choice != 0) {
    const std::unique_lock held(shared_timed);
    return run(*s.child);
  }
  const std::unique_lock held(shared);
  const int old = load_relaxed(s);
  variables[s.variable].store(s.value, std::memory_order_relaxed);
  return old;
}

int try_shared(const step& s) {
  return run_child_if(std::shared_lock(shared_timed, std::try_to_lock), s);
}

int try_exclusive(const step& s) {
  return run_child_if(std::unique_lock(shared_timed, std::try_to_lock), s);
}

int timed_shared(const step& s) { return run_child_if(std::shared_lock(shared_timed, 1us), s); }

int timed_exclusive(const step& s) { return run_child_if(std::unique_lock(shared_timed, 1us), s); }

int posix_read(const step& s) {
  const int error = take_posix_to_read(s.choice);
  if (error != 0) return -error;
  const int found = cells[s.variable];
  pthread_rwlock_unlock(&posix);
  return found;
}

int posix_write(const step& s) {
  const int error = take_posix_to_write(s.choice);
  if (error != 0) return -error;
  const int old = swap_cell(s);
  pthread_rwlock_unlock(&posix);
  return old;
}

}  // namespace operations

void start_locks() { pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE); }
