// asymmetric_lock_scenarios.cpp -- the OpenMP library's own lock under every interleaving: threads
// exclude each other, see what the others did, and nobody sleeps for good.
// Usage: asymmetric_lock_check SCENARIO; without arguments lists them.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstring>

#include "../check/check.h"
#include "openmp/locks/asymmetric_lock.h"

namespace {

// Waiters sleep at once: one on the lock's word, the others behind it.
struct impatient {
  static std::uint64_t polling_ticks() noexcept { return 0; }
  static std::uint64_t successor_ticks() noexcept { return 0; }
  static std::uint64_t due_ticks() noexcept { return 1; }
  static bool may_yield() noexcept { return false; }
};
using lock_type = syncopate::openmp::asymmetric_lock<impatient>;

// The successor is due at its second look.
struct insistent : impatient {
  static std::uint64_t successor_ticks() noexcept { return 2; }
  static bool may_yield() noexcept { return true; }
};

template <class Lock = lock_type>
struct shared {
  Lock lock;
  int sum = 0;  // plain: a race is an error

  void add() {
    lock.lock();
    ++sum;
    lock.unlock();
  }
};

void two_threads() {
  shared s;
  auto one = [&s] { s.add(); };
  check::together(one, one);
  assert(s.sum == 2);
}

void three_threads() {
  shared s;
  auto one = [&s] { s.add(); };
  check::together(one, one, one);
  assert(s.sum == 3);
}

void twice() {
  shared s;
  auto one = [&s] { s.add(); };
  auto two = [&s] {
    s.add();
    s.add();
  };
  check::together(one, two);
  assert(s.sum == 3);
}

void due_successor() {
  shared<syncopate::openmp::asymmetric_lock<insistent>> s;
  auto one = [&s] { s.add(); };
  check::together(one, one);
  assert(s.sum == 2);
}

void try_lock() {
  shared s;
  int taken = 0;
  auto one = [&s] { s.add(); };
  auto trying = [&] {
    if (!s.lock.try_lock()) return;
    ++s.sum;
    taken = 1;
    s.lock.unlock();
  };
  check::together(one, trying);
  assert(s.sum == 1 + taken);
}

// Two locks whose words share a count and a slot, one taken inside the other.
void shared_slot() {
  static lock_type locks[1024];
  lock_type &first = locks[0], *second = &locks[1];
  while (syncopate::openmp::sleep_index(second) != syncopate::openmp::sleep_index(&first)) ++second;
  assert(second < locks + 1024);
  int inner = 0, outer = 0;
  auto both = [&] {
    first.lock();
    second->lock();
    ++inner, ++outer;
    second->unlock();
    first.unlock();
  };
  auto one = [&] {
    second->lock();
    ++inner;
    second->unlock();
  };
  check::together(both, both, one);
  assert(inner == 3 && outer == 2);
}

constexpr struct {
  const char* name;
  void (*run)();
} scenarios[] = {{"two_threads", two_threads},
                 {"three_threads", three_threads},
                 {"twice", twice},
                 {"due_successor", due_successor},
                 {"try_lock", try_lock},
                 {"shared_slot", shared_slot}};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& s : scenarios) {
    if (argc < 2) std::puts(s.name);
    else if (std::strcmp(argv[1], s.name) == 0) return s.run(), 0;
  }
  return argc < 2 ? 0 : 2;
}
