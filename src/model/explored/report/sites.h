// sites.h -- the places where the program asks for a memory order, and making one relaxed.
//
// A site is an operation with an order on a line of a function, however often the compiler has
// copied it, and for whatever template arguments. What the runtime library does on the program's
// behalf (joining a thread, locking a pthread mutex) is none. Sites are numbered from 1 in the
// order in which the exploration first meets them, which is the same on every run, and with site n
// weakened the same up to its first use.
#pragma once

#include "model/front/engine.h"
#include "model/front/scope.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace syncopate::explored {

class sites {
 public:
  // weaken: 0 none. listing: whether as_json() will be called.
  sites(unsigned weaken, bool listing) : weaken_(weaken), active_(weaken != 0 || listing) {}

  // The order that the access is to have. what: "load", "fence", ... Asked first thing by each
  // operation that the front end hands over.
  std::memory_order order(engine::place where, const char* what, std::memory_order asked) {
    return takes_part() && active_ ? order_of(where, what, asked) : asked;
  }
  // The same for both orders of a compare-exchange.
  void orders(engine::place where, std::memory_order& success, std::memory_order& failure) {
    if (!takes_part() || !active_) return;
    success = order_of(where, "compare_exchange", success);
    failure = order_of(where, "compare_exchange failure", failure);
  }

  // Whether the operation that asked last is one that the program wrote.
  [[nodiscard]] bool of_program() const noexcept { return of_program_; }

  // JSON: an array of {"site": 1, "operation": ..., "order": ..., "position": "lock at x.h:12"}.
  [[nodiscard]] std::string as_json() const;

  // The weakened site's description; empty if there is none, or it was never met.
  [[nodiscard]] std::string weakened() const;
  // For the last line: what was weakened, or that nothing was; empty unless it was asked for.
  [[nodiscard]] std::string what_was_weakened() const;

 private:
  struct site {
    const char* what;
    std::memory_order order;
    std::string position;
  };
  struct copy {
    engine::place where;
    const char* what;
    std::size_t number;  // of its site; 0: the runtime library's own
  };

  bool takes_part() noexcept {
    return of_program_ = std::exchange(instrument::order_is_programs, false);
  }
  std::memory_order order_of(engine::place where, const char* what, std::memory_order asked) {
    if (asked == std::memory_order_relaxed) return asked;
    return number(where, what, asked) == weaken_ && weaken_ != 0 ? std::memory_order_relaxed
                                                                 : asked;
  }
  std::size_t number(engine::place where, const char* what, std::memory_order asked);

  unsigned weaken_;
  bool active_;
  bool of_program_ = false;
  std::vector<site> all_;
  std::vector<copy> copies_;
};

[[nodiscard]] const char* name(std::memory_order) noexcept;

}  // namespace syncopate::explored
