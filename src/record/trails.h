// trails.h -- the stacks that a thread was at lately, known again without walking them.
//
// Source        ours. Walking by tables takes 2-3 us, of a program that waits at the same few
//               places again and again; reading a dozen words takes 30 ns.
// Space         6 KiB per recorded thread.
//
// What a walk finds follows from the frame that it begins at and the return addresses that it reads
// on its way: from one and its place the tables tell the place of the next. So a stack that begins
// at the same frame, and has the same addresses in all those places, is the same. (Not so where a
// frame's size is the program's choice, as with alloca(); then frames inside it would have to be
// where others were by chance, and an old return address be left in its place.)
//
// Invariants
//   I1  A trail that is kept names, innermost first, every place from its frame outward where the
//       walk has read a return address, up to the outermost one outside this library.
#pragma once

#include "record/unwind.h"

namespace syncopate::record {

class trails {
 public:
  // Id of the stack that begins at `frame`, the caller's own; 0 when it is not known. stack(id):
  // its return addresses (stacks.h).
  template <class Stack>
  [[nodiscard]] std::uint32_t find(std::uintptr_t frame, const Stack& stack) const noexcept {
    for (std::uint32_t i = 0; i < kept; ++i)
      if (frames_[i] == frame && trails_[i].holds(frame, stack(trails_[i].id)))
        return trails_[i].id;
    return 0;
  }

  // What the next walk is to note; then keep() that it leads to this stack. 0: to none.
  trail& begin() noexcept {
    frames_[next_] = 0;
    return trails_[next_] = {};
  }
  void keep(std::uintptr_t frame, std::uint32_t id) noexcept {
    trail& t = trails_[next_];
    if (id == 0 || t.spoiled) return;
    t.id = id;
    frames_[next_] = frame;
    next_ = (next_ + 1) % kept;
  }

  void forget() noexcept {
    for (std::uintptr_t& frame : frames_) frame = 0;
  }

 private:
  static constexpr std::uint32_t kept = 48;
  std::uintptr_t frames_[kept];  // 0: none
  trail trails_[kept];
  std::uint32_t next_;
};

}  // namespace syncopate::record
