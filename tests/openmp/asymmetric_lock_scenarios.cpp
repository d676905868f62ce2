// asymmetric_lock_scenarios.cpp -- the OpenMP library's own lock under every interleaving: threads
// exclude each other, see what the others did, and nobody sleeps for good.
// Usage: asymmetric_lock_check SCENARIO; without arguments lists them.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstring>

#include "../check/check.h"
#include "openmp/asymmetric_lock.h"

namespace {

struct impatient {
  static std::uint64_t polling_ticks() noexcept { return 0; }
};
using lock_type = syncopate::openmp::asymmetric_lock<impatient>;

struct shared {
  lock_type lock;
  int sum = 0;  // plain: a race is an error
};

void add(shared& s) {
  s.lock.lock();
  ++s.sum;
  s.lock.unlock();
}

void two_threads() {
  shared s;
  auto one = [&s] { add(s); };
  check::together(one, one);
  assert(s.sum == 2);
}

void three_threads() {
  shared s;
  auto one = [&s] { add(s); };
  check::together(one, one, one);
  assert(s.sum == 3);
}

void twice() {
  shared s;
  auto one = [&s] { add(s); };
  auto two = [&s] {
    add(s);
    add(s);
  };
  check::together(one, two);
  assert(s.sum == 3);
}

void try_lock() {
  shared s;
  int taken = 0;
  auto one = [&s] { add(s); };
  auto trying = [&] {
    if (!s.lock.try_lock()) return;
    ++s.sum;
    taken = 1;
    s.lock.unlock();
  };
  check::together(one, trying);
  assert(s.sum == 1 + taken);
}

constexpr struct {
  const char* name;
  void (*run)();
} scenarios[] = {{"two_threads", two_threads},
                 {"three_threads", three_threads},
                 {"twice", twice},
                 {"try_lock", try_lock}};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& s : scenarios) {
    if (argc < 2) std::puts(s.name);
    else if (std::strcmp(argv[1], s.name) == 0) return s.run(), 0;
  }
  return argc < 2 ? 0 : 2;
}
