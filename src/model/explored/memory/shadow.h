// shadow.h -- who accessed which bytes when: data races and uses after free.
//
// Two accesses to a byte race if at least one writes, at least one is not atomic, and neither
// happens-before the other (Flanagan & Freund's vector clocks, "FastTrack", PLDI 2009, but every
// unordered access is kept, so that no race of an execution is missed). Giving a block of heap back
// counts as writing all of it, and so does leaving a stack frame. Nothing is approximated: masks of
// bytes, per 8 bytes of memory.
#pragma once

#include "clock.h"

#include "model/front/engine.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace syncopate::explored {

// release: of a heap block. leave: of a function, with its variables on the stack.
enum class touch : std::uint8_t { read, write, atomic_read, atomic_write, release, leave };
[[nodiscard]] const char* name(touch) noexcept;

struct access_record {
  engine::place where;
  std::uint32_t time;  // the thread's own entry of its clock
  std::uint8_t thread;
  std::uint8_t bytes;  // mask
  touch how;
};

class shadow {
 public:
  shadow();
  void reset();

  // Records an access. Returns what it races with, or null; the answer lives until the next call.
  const access_record* access(engine::address at, std::size_t bytes, touch how, std::uint8_t thread,
                              const clock& happened, engine::place where);

  // What an access would race with, among those so far. Records nothing.
  [[nodiscard]] const access_record* races_with(engine::address at, std::size_t bytes, touch how,
                                                std::uint8_t thread, const clock& happened);

  // Heap blocks that were given back in this execution.
  struct freed_block {
    engine::address start;
    std::size_t bytes;
    std::uint8_t thread;
    engine::place where;
  };
  [[nodiscard]] const freed_block* freed_at(engine::address at, std::size_t bytes) const noexcept;
  void add_freed(const freed_block& block);
  // Leaves what was accessed of these bytes. Returns what that races with, or null, as access().
  const access_record* leave(engine::address low, engine::address high, std::uint8_t thread,
                             const clock& happened, engine::place where);
  // The bytes are a new block (or a new thread's stack): what was there is forgotten.
  void forget(engine::address at, std::size_t bytes);

 private:
  static constexpr unsigned own_records = 4;
  struct cell {
    engine::address granule = 0;
    std::uint32_t execution = 0;
    std::uint16_t count = 0;
    access_record records[own_records];
    std::vector<access_record> more;  // the rest
  };
  cell& cell_of(engine::address granule);
  // The granule's cell, if it has been accessed in this execution; else null.
  [[nodiscard]] cell* known_cell(engine::address granule) noexcept;
  bool add(cell& c, const access_record& now, const clock& happened);

  std::vector<cell> cells_;
  std::size_t used_ = 0;
  std::uint32_t execution_ = 1;
  access_record found_{};
  std::vector<freed_block> freed_;
};

}  // namespace syncopate::explored
