/* heap.c -- lua-mt's allocation function: a heap for each thread, blocks in lines of their own.
 *
 * A heap gives out parts of chunks; a block that is freed goes back to the heap that its chunk
 * belongs to, whoever frees it. So the collector, which frees for all, moves no memory from one
 * thread to another, where it would lie beside blocks in use by the first.
 *
 * Invariants
 *   I1  A chunk begins at a multiple of its size, with a header that names its owner.
 *   I2  The size class of a block follows from the size that Lua asked for, which it repeats when
 *       it frees the block. So blocks have no header.
 *   I3  Blocks of more than largest() bytes are malloc's.
 */
#include "local_state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <syncopate/gil.h>

enum { chunk_bytes = 256 * 1024, header_bytes = 256, plain_unit = 16, most_bytes = 4096 };
enum { in_pages = 128 * 1024 }; /* malloc has pages of their own for blocks of so many bytes */

struct chunk {
  struct lua_mt_local* owner;
};

/* What all sizes are rounded up to. */
static size_t unit(void) { return lua_mt_removed.lines ? lua_mt_removed.line : plain_unit; }

static size_t largest(void) {
  const size_t all = lua_mt_size_classes * unit();
  return all < most_bytes ? all : most_bytes;
}

static size_t rounded(size_t size) { return (size + unit() - 1) / unit() * unit(); }

static bool in_heap(size_t size) { return lua_mt_removed.heap && size <= largest(); }

static struct lua_mt_heap* heap_of(void* block) {
  const uintptr_t start = (uintptr_t)block / chunk_bytes * chunk_bytes;
  return &((struct chunk*)start)->owner->heap;
}

/* A new chunk for the calling thread; what is left of the last one is lost. */
static bool refill(struct lua_mt_heap* heap) {
  syncopate_gil_needs_lock(); /* the system's memory, and its calls */
  char* const start = aligned_alloc(chunk_bytes, chunk_bytes);
  if (start == NULL) return false;
  ((struct chunk*)start)->owner = lua_mt_self;
  heap->free_from = start + header_bytes;
  heap->free_to = start + chunk_bytes;
  return true;
}

static void* heap_allocate(size_t size) {
  struct lua_mt_heap* const heap = &lua_mt_self->heap;
  const size_t bytes = rounded(size);
  void** const list = &heap->freed[bytes / unit() - 1];
  void* block = *list;
  if (block != NULL) {
    memcpy(list, block, sizeof *list);
    return block;
  }
  if ((size_t)(heap->free_to - heap->free_from) < bytes && !refill(heap)) return NULL;
  block = heap->free_from;
  heap->free_from += bytes;
  return block;
}

static void heap_free(void* block, size_t size) {
  void** const list = &heap_of(block)->freed[rounded(size) / unit() - 1];
  memcpy(block, list, sizeof *list);
  *list = block;
}

static void* allocate(size_t size) {
  if (in_heap(size)) return heap_allocate(size);
  return lua_mt_removed.lines ? aligned_alloc(lua_mt_removed.line, rounded(size)) : malloc(size);
}

static void release(void* block, size_t size) {
  if (block != NULL && in_heap(size)) heap_free(block, size);
  else free(block);
}

/* malloc's block, with another size; null: the caller has to move it. A large one stays where it is,
 * or moves by whole pages: then it begins with a line as before. (On the modeled machines all that
 * grows in lines of its own moves: their results are to depend on no allocator's moods.) */
static void* grow(void* block, size_t old_size, size_t new_size) {
  if (!lua_mt_removed.lines) return realloc(block, new_size);
#ifdef LUA_MT_NATIVE
  if (old_size < in_pages || new_size < in_pages) return NULL;
  void* const grown = realloc(block, rounded(new_size));
  if (grown == NULL || (uintptr_t)grown % lua_mt_removed.line == 0) return grown;
  void* const in_line = aligned_alloc(lua_mt_removed.line, rounded(new_size));
  if (in_line == NULL) return grown; /* in no line of its own, but whole */
  memcpy(in_line, grown, old_size < new_size ? old_size : new_size);
  free(grown);
  return in_line;
#else
  (void)old_size;
  return NULL;
#endif
}

void* lua_mt_allocate(void* unused, void* block, size_t old_size, size_t new_size) {
  (void)unused;
  if (new_size == 0) return release(block, old_size), NULL;
  if (block == NULL) return allocate(new_size); /* old_size says what it is for */
  if (in_heap(old_size) == in_heap(new_size)) {
    if (in_heap(old_size) && rounded(old_size) == rounded(new_size)) return block;
    if (!in_heap(old_size)) {
      void* const grown = grow(block, old_size, new_size);
      if (grown != NULL || !lua_mt_removed.lines) return grown;
    }
  }
  void* const moved = allocate(new_size);
  if (moved == NULL) return NULL;
  memcpy(moved, block, old_size < new_size ? old_size : new_size);
  release(block, old_size);
  return moved;
}
