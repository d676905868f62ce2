// options.h -- SYNCOPATE_EMULATED=KEY=VALUE,...; docs/reference/modeled-machines.md has the list.
#pragma once

#include <cstdint>

namespace syncopate::emulated {

struct option_values {
  std::uint32_t sets = 64, ways = 8;   // of the cache that has to hold the written lines
  std::uint32_t read_lines = 65536;    // 4 MiB: what a second-level structure remembers
  std::uint64_t accesses = 1'000'000;  // until the timer's interrupt; 0: no limit
  std::uint64_t spurious = 0;          // aborts per million accesses
  std::uint64_t yield = 0;             // yields per million accesses
  std::int64_t abort_at = -1;          // aborts every transaction once at this access; -1: none
  std::uint64_t seed = 1;
  bool htm = true;  // whether there are transactions at all
};
inline constinit option_values options;

// Ends the process with one line when the variable cannot be understood.
void read_options() noexcept;

}  // namespace syncopate::emulated
