// harmless.h -- bytes of which the program says that races are meant, or a library that threads may
// share them.
#pragma once

#include "model/explored/search/trace.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace syncopate::explored {

class harmless_bytes {
 public:
  enum kind : unsigned char { none, meant, shared };
  void add(address at, std::size_t bytes, kind what = meant) { all_.push_back({at, bytes, what}); }
  [[nodiscard]] kind has_some_in(address at, std::size_t bytes) const noexcept {
    for (const range& r : all_)
      if (at < r.at + r.bytes && r.at < at + bytes) return r.what;
    return none;
  }
  // New memory: what was said of what begins there no longer holds.
  void forget(address at, std::size_t bytes) {
    std::erase_if(all_, [&](const range& r) { return r.at - at < bytes; });
  }

  // Those that the program has named before it was explored: each execution begins with them.
  static harmless_bytes& from_the_start() {
    static harmless_bytes all;
    return all;
  }

 private:
  struct range {
    address at;
    std::size_t bytes;
    kind what;
  };
  std::vector<range> all_;
};

}  // namespace syncopate::explored
