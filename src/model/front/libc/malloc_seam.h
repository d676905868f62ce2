// malloc_seam.h -- what the names of the heap's functions (malloc_names.cpp) ask of a machine:
// malloc.cpp, or the emulated machine's memory.cpp. `where` is the call's site.
#pragma once

#include <cstddef>

#include "model/front/engine.h"

// The C library's own heap.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace syncopate::instrument {

// Null, with errno set, when there is no room.
void* allocate_any(std::size_t bytes, engine::place where);
void* allocate_zeroed(std::size_t bytes, engine::place where);
// 0 or an errno value. Alignments that are no power of two are rounded up, as memalign does.
int allocate_aligned(void*& block, std::size_t alignment, std::size_t bytes, engine::place where);
// A call has put a block's address where the program says.
void told_block(void** at, engine::place where);
// Requires, of all that follow: block != nullptr.
void* reallocate_any(void* block, std::size_t bytes, engine::place where);
void free_any(void* block, engine::place where);
std::size_t usable_bytes(void* block);

}  // namespace syncopate::instrument
