// heap.h -- the heap of one execution: which blocks there are, who has allocated each and when, and
// what a report needs to name them.
#pragma once

#include "model/explored/search/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace syncopate::explored {

struct heap_block {
  std::size_t bytes;
  thread_index thread;
  std::uint32_t time;  // of its thread's clock
  place where;
};

class heap {
 public:
  void forget();

  // A call of the program's, for tell_names(). from: null where nobody knows.
  void note_allocated(address at, std::size_t bytes, place from) {
    events_.push_back({at, bytes, from, true});
  }
  void note_freed(address at, std::size_t bytes, place from) {
    events_.push_back({at, bytes, from, false});
  }

  void begin(address at, const heap_block&);
  void end(address at, std::size_t bytes);  // all within

  // The block that has that byte in it, or null.
  [[nodiscard]] const heap_block* block_of(address at) {
    return at < end_ && at >= start_ ? look_for(at) : nullptr;
  }

  // How far behind its block's start that byte is, and the block; null: it is in none.
  struct place_in_block {
    std::size_t offset = 0;
    const heap_block* block = nullptr;
  };
  [[nodiscard]] place_in_block inside(address at) const;

  // Tells the front end (model/front/names/names.h).
  void tell_names() const;

 private:
  struct event {
    address at;
    std::size_t bytes;
    place where;
    bool given;
  };
  const heap_block* look_for(address at);

  std::vector<event> events_;
  std::map<address, heap_block> blocks_;   // by their start
  address start_ = ~address{0}, end_ = 0;  // all of them have been in between
  address recent_at_ = 0;                  // the one that was looked for last
  heap_block recent_{};                    // no bytes: none
};

}  // namespace syncopate::explored
