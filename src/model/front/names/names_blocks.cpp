// names_blocks.cpp -- the heap blocks and threads that names are made from.
#include "names_blocks.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace syncopate::instrument {

namespace {

// One open-addressing table of every address the heap ever gave out: malloc and free are hot in a
// simulated program, so each costs one probe. A freed block stays until its address comes again;
// blocks are never removed one by one, so the table needs no tombstones.
class block_table {
 public:
  heap_block& operator[](std::uintptr_t start) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    heap_block& slot = find(start);
    if (slot.start == 0) {
      slot.start = start;
      ++count_;
    }
    return slot;
  }

  heap_block* known(std::uintptr_t start) {
    if (slots_.empty()) return nullptr;
    heap_block& slot = find(start);
    return slot.start == 0 ? nullptr : &slot;
  }

  void clear() {
    slots_.clear();
    count_ = 0;
  }

  [[nodiscard]] const std::vector<heap_block>& slots() const { return slots_; }

 private:
  heap_block& find(std::uintptr_t start) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (start * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (slots_[at].start != 0 && slots_[at].start != start) at = (at + 1) & mask;
    return slots_[at];
  }

  void grow() {
    std::vector<heap_block> old(slots_.empty() ? 1024 : 2 * slots_.size());
    old.swap(slots_);
    for (const heap_block& block : old) {
      if (block.start != 0) find(block.start) = block;
    }
  }

  std::vector<heap_block> slots_;
  std::size_t count_ = 0;
};

// Made at first use, never destroyed: the heap is used before and after this file's constructors.
block_table& blocks() {
  static block_table& table = *new block_table;
  return table;
}

std::uintptr_t end_of(const heap_block& block) {
  // A block of 0 bytes still is what an access to its address is about.
  return block.start + (block.bytes == 0 ? 1 : block.bytes);
}

// The blocks by their start, made anew when it is asked for after the heap has changed: a report
// asks for the names of thousands of lines, among a million blocks.
class block_index {
 public:
  struct entry {
    heap_block block;
    std::uintptr_t latest_end;  // of this block and all that start before it
  };

  void heap_changed() { valid_ = false; }

  const std::vector<entry>& entries() {
    if (valid_) return entries_;
    entries_.clear();
    for (const heap_block& block : blocks().slots())
      if (block.start != 0) entries_.push_back({block, 0});
    std::sort(entries_.begin(), entries_.end(),
              [](const entry& a, const entry& b) { return a.block.start < b.block.start; });
    std::uintptr_t latest = 0;
    for (entry& e : entries_) e.latest_end = latest = std::max(latest, end_of(e.block));
    valid_ = true;
    return entries_;
  }

 private:
  std::vector<entry> entries_;
  bool valid_ = false;
};

block_index& index_of_blocks() {
  static block_index& index = *new block_index;
  return index;
}

std::vector<thread_memory>& all_threads() {
  static auto& threads = *new std::vector<thread_memory>;
  return threads;
}

}  // namespace

void note_allocation(std::uintptr_t address, std::size_t bytes, const void* place) {
  heap_block& block = blocks()[address];
  block.bytes = bytes;
  block.allocated = place;
  block.freed = nullptr;
  block.live = true;
  index_of_blocks().heap_changed();
}

void note_free(std::uintptr_t address, const void* place) {
  heap_block* block = blocks().known(address);
  if (block == nullptr) return;  // from before the program: the loader's, for one
  block->freed = place;
  block->live = false;
  index_of_blocks().heap_changed();
}

heap_block block_at(std::uintptr_t start) {
  const heap_block* block = blocks().known(start);
  return block == nullptr ? heap_block{} : *block;
}

heap_block block_of(std::uintptr_t address) {
  heap_block best;
  const std::vector<block_index::entry>& entries = index_of_blocks().entries();
  auto at = std::upper_bound(entries.begin(), entries.end(), address,
                             [](std::uintptr_t a, const auto& e) { return a < e.block.start; });
  while (at != entries.begin() && (--at)->latest_end > address) {
    if (end_of(at->block) <= address) continue;
    if (at->block.live) return at->block;
    // Of dead blocks that overlap, the one that starts last tells most.
    if (best.start == 0) best = at->block;
  }
  return best;
}

void note_thread(unsigned thread, std::uintptr_t stack_low, std::uintptr_t stack_high,
                 std::uintptr_t tls_low, std::uintptr_t tls_high) {
  all_threads().push_back({thread, stack_low, stack_high, tls_low, tls_high});
}

const thread_memory* thread_with(std::uintptr_t address) {
  const auto& threads = all_threads();
  // Backwards: a stack that was used again belongs to its last thread.
  for (auto at = threads.rbegin(); at != threads.rend(); ++at) {
    if (at->on_stack(address) || at->in_tls(address)) return &*at;
  }
  return nullptr;
}

void forget_blocks_and_threads() {
  blocks().clear();
  index_of_blocks().heap_changed();
  all_threads().clear();
  forget_thread_routines();
}

}  // namespace syncopate::instrument
