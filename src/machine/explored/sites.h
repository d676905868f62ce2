// sites.h -- L0: the places where the program asks for a memory order, and making one relaxed.
//
// Sites are numbered from 1 in the order in which the exploration first meets them, which is the
// same on every run, and with site n weakened the same up to its first use.
#pragma once

#include "instrument/engine.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::explored {

class sites {
 public:
  // weaken: 0 none. listing: whether write() will be called.
  sites(unsigned weaken, bool listing) : weaken_(weaken), active_(weaken != 0 || listing) {}

  // The order that the access is to have. what: "load", "compare_exchange failure", ...
  std::memory_order order(engine::place where, const char* what, std::memory_order asked) {
    return active_ && asked != std::memory_order_relaxed ? look_up(where, what, asked) : asked;
  }

  // JSON: an array of {"site": 1, "operation": ..., "order": ..., "position": "lock at x.h:12"}.
  // Returns whether the file could be written.
  [[nodiscard]] bool write(const std::string& file) const;

  // The weakened site's description; empty if there is none, or it was never met.
  [[nodiscard]] std::string weakened() const;

 private:
  struct site {
    engine::place where;
    const char* what;
    std::memory_order order;
  };
  std::memory_order look_up(engine::place where, const char* what, std::memory_order asked);

  unsigned weaken_;
  bool active_;
  std::vector<site> all_;
};

[[nodiscard]] const char* name(std::memory_order) noexcept;

}  // namespace syncopate::explored
