// malloc.cpp -- what malloc and its relatives do on the machines with an engine: the program's
// blocks come from its own heap (heap.h), the machine's from the C library. A block is freed by
// where it lies.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/call_memory.h"
#include "model/front/libc/heap.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/malloc_seam.h"
#include "model/front/program/identity.h"
#include "model/front/program/unwritten.h"

namespace syncopate::instrument {
namespace {

// Rough costs in cycles: glibc's per-thread cache; what a large block costs before it is touched.
constexpr std::uint64_t small_cost = 20;
constexpr std::uint64_t large_cost = 2000;
constexpr std::size_t large = std::size_t{128} << 10;

// Static constructors' blocks are the program's, too. Where it runs several times, the linker's are
// not: it keeps the libraries that a run opens.
bool for_program(engine::place where) noexcept {
  return asks_machine() && running != nullptr && !(engine::runs_again() && linker_code.has(where));
}

engine::place caller_unless_libc(engine::place where) noexcept {
  return from_libc(where) ? nullptr : where;
}

void tell_allocated(void* block, std::size_t bytes, engine::place where) {
  if (!in_program()) return;
  const engine_scope inside;
  engine::place known = caller_unless_libc(where);
  engine::allocated(address_of(block), bytes, known);
  if (known != nullptr) engine::work(bytes < large ? small_cost : large_cost);
}

bool lies_on_stack(const void* block) noexcept {
  return address_of(block) - layout::stacks < layout::stack_slots * layout::stack_slot;
}

void* allocate(std::size_t bytes, std::size_t alignment, engine::place where,
               bool* zeroed = nullptr) {
  heap_result got = heap_allocate(running->heap, bytes, alignment);
  if (got.start == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  if (zeroed != nullptr) {
    *zeroed = got.zeroed;
  } else if (engine::runs_again()) {
    const engine_scope inside;
    unwritten::fill(got.start, std::min(bytes, unwritten::of_block));
  }
  if (in_transaction()) {
    const engine_scope inside;
    running->transaction.allocated.push_back(got.start);
  }
  tell_allocated(got.start, bytes, where);
  return got.start;
}

void release(void* block, engine::place where) {
  if (in_transaction()) {
    const engine_scope inside;
    running->transaction.freed.push_back(block);
  } else if (in_program()) {
    release_now(block, where);
  } else {
    heap_release(running->heap, block);
  }
}

void tell_resized(void* block, std::size_t bytes, engine::place where) {
  if (!in_program()) return;
  const engine_scope inside;
  engine::freed(address_of(block), heap_usable(block), caller_unless_libc(where));
  engine::allocated(address_of(block), bytes, caller_unless_libc(where));
}

void* reallocate(void* block, std::size_t bytes, engine::place where) {
  const std::size_t had = heap_usable(block);
  if (bytes <= had && bytes >= had / 2) {
    tell_resized(block, bytes, where);
    return block;
  }
  void* moved = allocate(bytes, 16, where);
  if (moved == nullptr) return nullptr;
  const std::size_t kept = bytes < had ? bytes : had;
  if (by_program(where)) {
    announce(block, kept, engine::kind::read, where);
    announce(moved, kept, engine::kind::write, where);
  }
  {
    const engine_scope inside;
    std::memcpy(moved, block, kept);
  }
  release(block, where);
  return moved;
}

void* allocate_zeroed_here(std::size_t bytes, engine::place where) {
  bool zeroed = false;
  void* block = allocate(bytes, 16, where, &zeroed);
  if (block == nullptr || zeroed) return block;
  if (by_program(where)) announce(block, bytes, engine::kind::write, where);
  const engine_scope inside;
  return std::memset(block, 0, bytes);
}

}  // namespace

void release_now(void* block, engine::place where) {
  const bool silent = caller_unless_libc(where) == nullptr;
  {
    const engine_scope inside;
    engine::freed(address_of(block), heap_usable(block), silent ? nullptr : where);
    if (!silent) engine::work(small_cost);
  }
  heap_release(running->heap, block);
}

// ---- malloc_seam.h ------------------------------------------------------------------------------

void* allocate_any(std::size_t bytes, engine::place where) {
  return for_program(where) ? allocate(bytes, 16, where) : __libc_malloc(bytes);
}

void* allocate_zeroed(std::size_t bytes, engine::place where) {
  return for_program(where) ? allocate_zeroed_here(bytes, where) : __libc_calloc(1, bytes);
}

int allocate_aligned(void*& block, std::size_t alignment, std::size_t bytes, engine::place where) {
  if (alignment > layout::heap_bytes) return EINVAL;
  if (for_program(where)) {
    std::size_t power = 16;
    while (power < alignment) power *= 2;
    block = allocate(bytes, power, where);
  } else {
    block = __libc_memalign(alignment, bytes);
  }
  return block != nullptr ? 0 : ENOMEM;
}

void told_block(void** at, engine::place where) {
  if (by_program(where)) call_wrote(at, sizeof *at, where);
}

void* reallocate_any(void* block, std::size_t bytes, engine::place where) {
  if (!in_heap(block)) return __libc_realloc(block, bytes);
  if (bytes != 0) return reallocate(block, bytes, where);
  free_any(block, where);
  return nullptr;
}

void free_any(void* block, engine::place where) {
  if (in_heap(block)) return release(block, where);
  if (in_program() && lies_on_stack(block)) {
    const engine_scope inside;
    engine::finish(engine::end::failed_check, 128 + 6, "free of memory on a stack", where);
  }
  if (Dl_info module; in_program() && ::dladdr(block, &module) != 0) {
    const engine_scope inside;
    engine::finish(engine::end::failed_check, 128 + 6, "free of a variable that is static", where);
  }
  __libc_free(block);
}

std::size_t usable_bytes(void* block) {
  return in_heap(block) ? heap_usable(block) : SYNCOPATE_REAL(malloc_usable_size)(block);
}

}  // namespace syncopate::instrument
