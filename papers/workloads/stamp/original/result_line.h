// result_line.h -- the line of JSON that a STAMP program ends with here, behind what it prints
// itself; and the seed, which its own options have no word for.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace workloads::stamp {

// 1 unless the environment says otherwise.
inline std::uint64_t seed() {
  const char* const said = std::getenv("SYNCOPATE_SEED");
  return said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
}

// attempts, commits: of transactions that are calls; 0 where the processor's own are meant.
inline void print_result(double seconds, std::uint64_t attempts, std::uint64_t commits) {
  std::printf("\n{\"seconds\": %.9f", seconds);
  if (attempts != 0)
    std::printf(", \"attempts\": %llu, \"commits\": %llu",
                static_cast<unsigned long long>(attempts),
                static_cast<unsigned long long>(commits));
  std::puts("}");
  std::fflush(stdout);
}

}  // namespace workloads::stamp
