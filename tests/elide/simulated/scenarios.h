// scenarios.h -- for the programs of this folder: scenarios by name, and what all of them check.
#pragma once

#include <syncopate/elide/elided_lock.h>
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/tatas_lock.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "../../check/scenario.h"
#include "../../simulated_engine/together.h"

namespace scenarios {

using scenario_program::main;
using scenario_program::scenario;
namespace elide = syncopate::elide;
namespace machine = syncopate::machine;

using fall_back = syncopate::tatas_lock<syncopate::waits::spin>;
using plain_elided = elide::elided_lock<fall_back>;

// A line of its own, so that sections conflict only where they are meant to.
template <class T>
struct alignas(128) apart {
  T value{};
};

inline void require(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "line %d: %s does not hold\n", line, what);
  std::exit(1);
}
#define REQUIRE(condition) scenarios::require((condition), #condition, __LINE__)

// How the sections of a scenario ran; told to the test as a line `name=number`.
inline void tell(const char* name, long number) { std::printf("%s=%ld\n", name, number); }

}  // namespace scenarios
