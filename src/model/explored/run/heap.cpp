// heap.cpp -- what heap.h promises.
#include "heap.h"

#include "model/front/names/names.h"

#include <iterator>

namespace syncopate::explored {

void heap::forget() {
  events_.clear();
  blocks_.clear();
  start_ = ~address{0};
  end_ = 0;
  recent_ = {};
}

void heap::begin(address at, const heap_block& block) {
  blocks_[at] = block;
  start_ = std::min(start_, at);
  end_ = std::max(end_, at + block.bytes);
}

void heap::end(address at, std::size_t bytes) {
  recent_ = {};
  auto first = blocks_.lower_bound(at);
  while (first != blocks_.end() && first->first < at + bytes) first = blocks_.erase(first);
}

const heap_block* heap::look_for(address at) {
  if (at - recent_at_ < recent_.bytes) return &recent_;
  const auto after = blocks_.upper_bound(at);
  if (after == blocks_.begin()) return nullptr;
  const auto& [start, block] = *std::prev(after);
  if (at - start >= block.bytes) return nullptr;
  recent_at_ = start;
  recent_ = block;
  return &recent_;
}

heap::place_in_block heap::inside(address at) const {
  if (blocks_.empty() || at < blocks_.begin()->first) return {};
  const auto& [start, block] = *std::prev(blocks_.upper_bound(at));
  if (at >= start + block.bytes) return {};
  return {at - start, &block};
}

void heap::tell_names() const {
  for (const event& e : events_)
    if (e.given) instrument::note_allocation(e.at, e.bytes, e.where);
    else instrument::note_free(e.at, e.where);
}

}  // namespace syncopate::explored
