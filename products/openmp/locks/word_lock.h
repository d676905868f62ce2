// word_lock.h -- the default lock, in a program's own word. Calls that it answers need no table
// of locks: module_of() says whether they are such (runtime.h), and all is in line.
#pragma once

#include <syncopate/machine.h>

#include <cstdint>

#include "openmp/locks/asymmetric_lock.h"
#include "openmp/teams/team.h"

namespace syncopate::openmp {

// Where there is a processor for each, a wait that may soon end is worth some more polling than a
// sleep costs (libgomp polls for 2 milliseconds). Where not, all but one successor soon sleep, and
// the successor polls between yields.
struct lock_polling {
  static constexpr std::uint64_t crowded = 20'000, alone = 400'000;  // 10 and 200 us at 2 GHz
  static constexpr std::uint64_t successor = 800'000;

  static std::uint64_t polling_ticks() noexcept {
    return !machine::may_spin() ? 0 : may_yield() ? crowded : alone;
  }
  static std::uint64_t successor_ticks() noexcept { return machine::may_spin() ? successor : 0; }
  static std::uint64_t due_ticks() noexcept { return successor - successor / 8; }
  static bool may_yield() noexcept { return oversubscribed(); }
};

using word_lock = asymmetric_lock<lock_polling>;
static_assert(sizeof(word_lock) == sizeof(std::uint32_t));

inline word_lock& as_word_lock(void* word) noexcept { return *static_cast<word_lock*>(word); }

}  // namespace syncopate::openmp
