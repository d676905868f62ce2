// heap.h -- the program's heap: blocks at fixed addresses, laid out as glibc lays them out.
//
// A block of n bytes takes a chunk of n + 8 rounded up to 16, at least 32: a word before the block,
// which starts at a multiple of 16. So neighbors share cache lines as they do under glibc. Chunks
// beyond 1 KiB have sizes in steps of an eighth; those from 128 KiB start at a page, the block 16
// bytes later. Each thread cuts its blocks from regions of its own and has its own lists of free
// chunks; large chunks are shared. Nothing is given back to the system and nothing is merged.
//
// One OS thread calls, and nothing here switches fibers: no locks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/front/program/layout.h"

namespace syncopate::instrument {

inline constexpr unsigned heap_classes = 320;

struct heap_cache {
  std::uintptr_t next = 0, end = 0;  // the rest of the thread's region
  void* free[heap_classes] = {};
};

struct heap_shared {
  std::uintptr_t next = layout::heap;
  std::uintptr_t zero_from = layout::heap;  // memory from here on was never given out
  std::uintptr_t end = 0;                   // of the mapping; 0 before the first block
  void* free[heap_classes] = {};
};
inline constinit heap_shared program_heap;

inline bool in_heap(const void* block) noexcept {
  return reinterpret_cast<std::uintptr_t>(block) - layout::heap < layout::heap_bytes;
}

struct heap_result {
  void* start;
  bool zeroed;
};

// alignment: a power of two. `start` is null when there is no room.
heap_result heap_allocate(heap_cache&, std::size_t bytes, std::size_t alignment = 16) noexcept;
void heap_release(heap_cache&, void* block) noexcept;
std::size_t heap_usable(const void* block) noexcept;

}  // namespace syncopate::instrument
