// names_blocks.cpp -- L0: the heap blocks and threads that names are made from.
#include "names_blocks.h"

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
}

void note_free(std::uintptr_t address, const void* place) {
  heap_block* block = blocks().known(address);
  if (block == nullptr) return;  // from before the program: the loader's, for one
  block->freed = place;
  block->live = false;
}

heap_block block_at(std::uintptr_t start) {
  const heap_block* block = blocks().known(start);
  return block == nullptr ? heap_block{} : *block;
}

heap_block block_of(std::uintptr_t address) {
  heap_block best;
  for (const heap_block& block : blocks().slots()) {
    // A block of 0 bytes still is what an access to its address is about.
    const std::size_t bytes = block.bytes == 0 ? 1 : block.bytes;
    if (block.start == 0 || address - block.start >= bytes) continue;
    if (block.live) return block;
    // Of dead blocks that overlap, the one that starts last tells most.
    if (block.start > best.start) best = block;
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
  all_threads().clear();
  forget_thread_routines();
}

}  // namespace syncopate::instrument
