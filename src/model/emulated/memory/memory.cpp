#include "memory.h"

#include <cerrno>
#include <mutex>

#include <malloc.h>

#include "access.h"
#include "model/emulated/htm/observer.h"
#include "model/emulated/threads/registry.h"
#include "model/front/libc/libc_copy.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/malloc_seam.h"
#include "model/front/names/names.h"

namespace syncopate::emulated {

namespace {

using instrument::in_program;

std::uintptr_t address(void* block) noexcept { return reinterpret_cast<std::uintptr_t>(block); }

// A free conflicts as the write that it is: of what malloc keeps in a freed block, 16 bytes, which
// lie in one line as blocks are aligned so.
void check_free(void* block, place where) noexcept {
  if (shadow_is_there() && in_program()) write(block, 16, where);
}

void note_block(void* block, std::size_t bytes, place where) noexcept {
  if (!observing || block == nullptr || !in_program()) return;
  const own_memory_scope ours;
  const std::lock_guard lock(registry);
  instrument::note_allocation(address(block), bytes, where);
}

// free() is to leave errno alone.
void note_gone(void* block, place where) noexcept {
  if (!observing || !in_program()) return;
  const int error = errno;
  {
    const own_memory_scope ours;
    const std::lock_guard lock(registry);
    instrument::note_free(address(block), where);
  }
  errno = error;
}

// The program's own calls in a transaction. What the C library and the linker allocate for
// themselves (thread-local blocks) they do not forget after a roll-back.
bool in_transaction(place where) noexcept {
  return here.current != nullptr && in_program() && !instrument::from_libc(where);
}

// `make` calls the C library, which may hold a lock of its own then.
template <class Make>
void* allocate(std::size_t bytes, place where, Make make) noexcept {
  if (here.current == nullptr) [[likely]] {
    void* const block = make();
    note_block(block, bytes, where);
    return block;
  }
  const runtime_scope inside;
  void* const block = make();
  if (block == nullptr) return nullptr;
  if (in_transaction(where)) here.current->allocated.push(block);
  note_block(block, bytes, where);
  return block;
}

}  // namespace

void drop_allocations(thread& t) noexcept {
  for (void** each = t.allocated.first; each != t.allocated.next; ++each) {
    note_gone(*each, nullptr);
    __libc_free(*each);
  }
  t.allocated.clear();
  t.freed.clear();
}

void perform_frees(thread& t) noexcept {
  for (void** each = t.freed.first; each != t.freed.next; ++each) {
    note_gone(*each, nullptr);
    __libc_free(*each);
  }
  t.allocated.clear();
  t.freed.clear();
}

}  // namespace syncopate::emulated

namespace syncopate::instrument {

using namespace emulated;

void* allocate_any(std::size_t bytes, engine::place where) {
  return allocate(bytes, where, [=] { return __libc_malloc(bytes); });
}

void* allocate_zeroed(std::size_t bytes, engine::place where) {
  return allocate(bytes, where, [=] { return __libc_calloc(1, bytes); });
}

int allocate_aligned(void*& block, std::size_t alignment, std::size_t bytes, engine::place where) {
  block = allocate(bytes, where, [=] { return __libc_memalign(alignment, bytes); });
  return block != nullptr ? 0 : ENOMEM;
}

void free_any(void* block, engine::place where) {
  check_free(block, where);
  const runtime_scope inside;
  if (emulated::in_transaction(where)) {
    here.current->freed.push(block);
  } else {
    note_gone(block, where);
    __libc_free(block);
  }
}

void* reallocate_any(void* block, std::size_t bytes, engine::place where) {
  if (!emulated::in_transaction(where)) {
    check_free(block, where);
    const runtime_scope inside;
    note_gone(block, where);
    void* const moved = __libc_realloc(block, bytes);
    note_block(moved, bytes, where);
    return moved;
  }
  if (bytes == 0) {
    free_any(block, where);
    return nullptr;
  }
  const std::size_t had = usable_bytes(block);
  if (bytes <= had && bytes >= had / 2) return block;
  void* const moved = allocate_any(bytes, where);
  if (moved == nullptr) return nullptr;
  const std::size_t kept = bytes < had ? bytes : had;
  read_range(address(block), kept, where);
  write_range(address(moved), kept, where);
  real_memcpy(moved, block, kept);
  free_any(block, where);
  return moved;
}

void told_block(void**, engine::place) {}
std::size_t usable_bytes(void* block) { return SYNCOPATE_REAL(malloc_usable_size)(block); }

}  // namespace syncopate::instrument
