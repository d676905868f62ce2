// malloc.cpp -- L0: malloc and its relatives, operator new and delete: the program's blocks come
// from its own heap (heap.h), the machine's from the C library. A block is freed by where it lies.
#include <cerrno>
#include <cstring>
#include <new>

#include <malloc.h>
#include <unistd.h>

#include "instrument/heap.h"
#include "instrument/identity.h"
#include "instrument/libc_range.h"
#include "instrument/transaction_memory.h"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace syncopate::instrument {
namespace {

// Rough costs in cycles: glibc's per-thread cache; what a large block costs before it is touched.
constexpr std::uint64_t small_cost = 20;
constexpr std::uint64_t large_cost = 2000;
constexpr std::size_t large = std::size_t{128} << 10;

// Static constructors' blocks are the program's, too.
bool for_program() noexcept { return asks_machine() && running != nullptr; }

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

void* allocate(std::size_t bytes, std::size_t alignment, engine::place where,
               bool* zeroed = nullptr) {
  heap_result got = heap_allocate(running->heap, bytes, alignment);
  if (got.start == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  if (zeroed != nullptr) *zeroed = got.zeroed;
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

void* allocate_zeroed(std::size_t bytes, engine::place where) {
  bool zeroed = false;
  void* block = allocate(bytes, 16, where, &zeroed);
  if (block == nullptr || zeroed) return block;
  if (by_program(where)) announce(block, bytes, engine::kind::write, where);
  const engine_scope inside;
  return std::memset(block, 0, bytes);
}

// 0 or an errno value. Alignments that are no power of two are rounded up, as memalign does.
int allocate_aligned(void*& block, std::size_t alignment, std::size_t bytes, engine::place where) {
  if (alignment > layout::heap_bytes) return EINVAL;
  if (for_program()) {
    std::size_t power = 16;
    while (power < alignment) power *= 2;
    block = allocate(bytes, power, where);
  } else {
    block = __libc_memalign(alignment, bytes);
  }
  return block != nullptr ? 0 : ENOMEM;
}

void* aligned_or_null(std::size_t alignment, std::size_t bytes, engine::place where) {
  void* block = nullptr;
  const int error = allocate_aligned(block, alignment, bytes, where);
  if (error != 0) errno = error;
  return block;
}

void* allocate_any(std::size_t bytes, engine::place where) {
  return for_program() ? allocate(bytes, 16, where) : __libc_malloc(bytes);
}

void free_any(void* block, engine::place where) {
  if (!in_heap(block)) __libc_free(block);
  else release(block, where);
}

// operator new: asks the program's new-handler for room, as the standard says.
void* new_or_throw(std::size_t bytes, std::size_t alignment, engine::place where) {
  for (;;) {
    void* block =
        alignment <= 16 ? allocate_any(bytes, where) : aligned_or_null(alignment, bytes, where);
    if (block != nullptr) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* new_or_null(std::size_t bytes, std::size_t alignment, engine::place where) noexcept {
  try {
    return new_or_throw(bytes, alignment, where);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool is_power_of_two(std::size_t n) { return n != 0 && (n & (n - 1)) == 0; }

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

}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT void* malloc(std::size_t bytes) { return allocate_any(bytes, SYNCOPATE_CALLER); }

SYNCOPATE_EXPORT void* calloc(std::size_t count, std::size_t each) {
  if (!for_program()) return __libc_calloc(count, each);
  std::size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate_zeroed(bytes, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT void free(void* block) {
  if (block != nullptr) free_any(block, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT void* realloc(void* block, std::size_t bytes) {
  if (block == nullptr) return allocate_any(bytes, SYNCOPATE_CALLER);
  if (!in_heap(block)) return __libc_realloc(block, bytes);
  if (bytes == 0) {
    free_any(block, SYNCOPATE_CALLER);
    return nullptr;
  }
  return reallocate(block, bytes, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t each) {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}

SYNCOPATE_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
  return aligned_or_null(alignment, bytes, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return aligned_or_null(alignment, bytes, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* got = nullptr;
  const int error = allocate_aligned(got, alignment, bytes, SYNCOPATE_CALLER);
  if (error == 0) *block = got;
  return error;
}
SYNCOPATE_EXPORT void* valloc(std::size_t bytes) {
  return aligned_or_null(4096, bytes, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT std::size_t malloc_usable_size(void* block) {
  if (block == nullptr) return 0;
  return in_heap(block) ? heap_usable(block) : SYNCOPATE_REAL(malloc_usable_size)(block);
}

#define EXPORT __attribute__((visibility("default")))
using std::align_val_t;
using std::nothrow_t;
using std::size_t;

EXPORT void* operator new(size_t n) { return new_or_throw(n, 16, SYNCOPATE_CALLER); }
EXPORT void* operator new[](size_t n) { return new_or_throw(n, 16, SYNCOPATE_CALLER); }
EXPORT void* operator new(size_t n, align_val_t a) {
  return new_or_throw(n, static_cast<size_t>(a), SYNCOPATE_CALLER);
}
EXPORT void* operator new[](size_t n, align_val_t a) {
  return new_or_throw(n, static_cast<size_t>(a), SYNCOPATE_CALLER);
}
EXPORT void* operator new(size_t n, const nothrow_t&) noexcept {
  return new_or_null(n, 16, SYNCOPATE_CALLER);
}
EXPORT void* operator new[](size_t n, const nothrow_t&) noexcept {
  return new_or_null(n, 16, SYNCOPATE_CALLER);
}
EXPORT void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept {
  return new_or_null(n, static_cast<size_t>(a), SYNCOPATE_CALLER);
}
EXPORT void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept {
  return new_or_null(n, static_cast<size_t>(a), SYNCOPATE_CALLER);
}

#define DELETE(...)                                     \
  EXPORT void operator delete(__VA_ARGS__) noexcept {   \
    if (p != nullptr) free_any(p, SYNCOPATE_CALLER);    \
  }                                                     \
  EXPORT void operator delete[](__VA_ARGS__) noexcept { \
    if (p != nullptr) free_any(p, SYNCOPATE_CALLER);    \
  }
DELETE(void* p)
DELETE(void* p, size_t)
DELETE(void* p, align_val_t)
DELETE(void* p, size_t, align_val_t)
DELETE(void* p, const nothrow_t&)
DELETE(void* p, align_val_t, const nothrow_t&)
