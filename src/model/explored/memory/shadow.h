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

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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

  // The first byte that the answer is about.
  [[nodiscard]] engine::address raced_at() const noexcept { return raced_at_; }

  // Whether somebody has written any of these bytes since their block or their function is there.
  [[nodiscard]] bool is_written(engine::address at, std::size_t bytes);

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
  [[nodiscard]] const freed_block* freed_at(engine::address at, std::size_t bytes) const noexcept {
    return at < freed_high_ && freed_low_ < at + bytes ? freed_in(at, bytes) : nullptr;
  }
  void add_freed(const freed_block& block);
  // Leaves what was accessed of these bytes. Returns what that races with, or null, as access().
  const access_record* leave(engine::address low, engine::address high, std::uint8_t thread,
                             const clock& happened, engine::place where);
  // The bytes are a new block (or a new thread's stack): what was there is forgotten.
  void forget(engine::address at, std::size_t bytes);

 private:
  [[nodiscard]] const freed_block* freed_in(engine::address at, std::size_t bytes) const noexcept;

  static constexpr unsigned own_records = 4;
  // What is known of 8 bytes of memory.
  struct cell {
    std::uint32_t count = 0;
    access_record records[own_records];
    std::vector<access_record> more;  // the rest
  };
  // The cells of 4 KiB of memory. Pages stay for later executions.
  struct page {
    static constexpr unsigned cells = 512;
    engine::address number;
    std::uint32_t execution = 0;                    // that `known` is of
    std::array<std::uint64_t, cells / 64> known{};  // which cells this execution has accessed
    std::array<cell, cells> of;
  };
  // The page, as of this execution; made, or null, if there is none.
  page& page_of(engine::address number) {
    page* const p = recent_[number % recent_.size()];
    return p != nullptr && p->number == number && p->execution == execution_ ? *p
                                                                             : make_page(number);
  }
  page& make_page(engine::address number);
  [[nodiscard]] page* known_page(engine::address number) noexcept;
  [[nodiscard]] page* find(engine::address number) noexcept;
  static cell& cell_of(page& p, engine::address granule) noexcept;
  // Calls f(cell, its granule) for the granules from first to before last that have been accessed
  // in this execution, until it returns false.
  template <class F>
  bool for_known(engine::address first, engine::address last, F f);
  bool add(cell& c, const access_record& now, const clock& happened);
  const access_record* found(engine::address granule, unsigned mask) noexcept;

  std::vector<std::unique_ptr<page>> pages_;  // by their number, in slots; at most half are used
  std::size_t page_count_ = 0;
  std::array<page*, 64> recent_{};  // by the last bits of their number
  std::uint32_t execution_ = 1;
  access_record found_{};
  engine::address raced_at_ = 0;
  std::vector<freed_block> freed_;
  engine::address freed_low_ = ~engine::address{0}, freed_high_ = 0;  // all of them are in between
};

}  // namespace syncopate::explored
