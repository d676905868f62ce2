// policy_sites.h -- the sites of a policy, read from text and moved to where modules are
// loaded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::shim {

struct range {
  std::uintptr_t start, end;  // in memory
  [[nodiscard]] bool holds(std::uintptr_t at) const noexcept { return at >= start && at < end; }
};

struct site : range {
  char kind;  // as in policy.h
  std::uint16_t setting;
  std::uint32_t locks;  // that were found here
  char label[64];
};

struct policy_table {
  static constexpr std::size_t most_sites = 256, most_detours = 1024;
  site sites[most_sites];
  range detours[most_detours];  // code that only leads to locks
  std::size_t site_count, detour_count;
  bool waits_for_first_use;  // a site is about locks that no init call has made
};

// Reads the text that policy.h describes into an all-zero table, adds run-time libraries to the
// detours, and sets chosen_locks. Sites beyond the room, and those of modules that are not loaded,
// are left out. Returns false for what is no such text. Allocates nothing.
bool read_sites(const char* text, policy_table& table) noexcept;

}  // namespace syncopate::shim
