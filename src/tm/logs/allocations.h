// allocations.h -- the blocks that a transaction allocated (freed when it rolls back) and those
// it freed (freed when it has committed).
#pragma once

#include "tm/logs/buffer.h"
#include "tm/logs/memory.h"

namespace syncopate::tm {

using free_function = void (*)(void*);

struct block {
  void* at;
  std::size_t size;
  free_function release;
};

class allocations : public buffer<block> {
 public:
  [[nodiscard]] bool add(void* at, std::size_t size, free_function release) noexcept {
    block* const entry = push();
    if (entry == nullptr) return false;
    *entry = {at, size, release};
    return true;
  }

  // Whether the byte lies in a block.
  [[nodiscard]] bool covers(address where) const noexcept {
    for (const block& b : *this)
      if (where - reinterpret_cast<address>(b.at) < b.size) return true;
    return false;
  }

  // Forgets a block; returns whether it was there.
  bool forget(const void* at) noexcept {
    for (block& b : *this) {
      if (b.at != at) continue;
      b = back();
      pop();
      return true;
    }
    return false;
  }

  // Frees all but the first `kept` blocks, newest first.
  void release(std::size_t kept) noexcept {
    while (size() > kept) {
      const block b = back();
      pop();
      b.release(b.at);
    }
  }
};

}  // namespace syncopate::tm
