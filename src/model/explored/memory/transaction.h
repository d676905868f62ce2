// transaction.h -- the hardware transaction that runs, and what one did, for the search.
//
// Model (docs/decisions/0015-explored-transactions.md): a transaction that commits is one step: no
// other thread runs in between. One that aborts leaves nothing behind, so that every abort which
// the program has not asked for may be tried at its begin: there the search chooses.
#pragma once

#include "memory.h"
#include "shadow.h"

#include <syncopate/machine/types.h>

#include "model/front/threads/fiber.h"

#include <cstddef>
#include <vector>

namespace syncopate::explored {

// The choices of a transaction's step: it runs, or aborts at its begin.
inline constexpr choice tx_runs = 0;
inline constexpr choice tx_conflict = 1;
inline constexpr choice tx_capacity = 2;
inline constexpr choice tx_other = 3;
inline constexpr choices tx_all = 0xf;

// What a transaction that ran did to atomic variables.
struct footprint {
  struct word {
    address at;
    location_id where;  // of the execution that it ran in
    std::uint8_t bytes;
    bool read;   // what others had written
    bool wrote;  // for others to see: never if it aborted
  };
  std::vector<word> words;
  bool committed = false;

  [[nodiscard]] const word* find(address at) const noexcept {
    for (const word& w : words)
      if (w.at == at) return &w;
    return nullptr;
  }
};

// One at a time: nobody else runs until it has ended.
struct transaction {
  struct word {
    location_id where;
    address at;
    std::uint8_t bytes;
    bool read, wrote;
    message_id seen;  // the newest one when it began
    bool forgotten;   // overwritten by a plain write
  };
  struct touched {
    address at;
    std::size_t bytes;
    touch how;
    place from;
  };
  struct old_bytes {
    address at;
    std::size_t bytes, offset;
  };

  unsigned depth = 0;  // 0: none runs; nested ones are part of the outermost
  syncopate::machine::htm::mode mode{};
  syncopate::machine::htm::status result;  // of begin's second return
  instrument::stack_copy* copy = nullptr;
  instrument::stack_bounds stack{0, 0};  // its thread's, which the copy puts back
  std::vector<word> words;
  std::vector<touched> accesses;  // for races, if it commits
  std::vector<old_bytes> undo;
  std::vector<unsigned char> old;

  [[nodiscard]] bool runs() const noexcept { return depth != 0; }
  [[nodiscard]] bool never_commits() const noexcept {
    return mode == syncopate::machine::htm::mode::always_abort;
  }
};

}  // namespace syncopate::explored
