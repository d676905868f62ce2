// memory.cpp -- memcmp and realloc in transactions.
#include "tm/libc/clone.h"

#include <syncopate/tm/libc.h>

#include <algorithm>
#include <cstring>

#include <malloc.h>

int tm_memcmp(const void* a, const void* b, std::size_t size) { return std::memcmp(a, b, size); }
void* tm_realloc(void* block, std::size_t size) { return std::realloc(block, size); }

SYNCOPATE_TM_CLONE(tm_memcmp, 9);
SYNCOPATE_TM_CLONE(tm_realloc, 10);

int clone_of_tm_memcmp(const void* a, const void* b, std::size_t size) {
  constexpr std::size_t chunk = 256;
  unsigned char left[chunk], right[chunk];
  for (std::size_t done = 0; done < size; done += chunk) {
    const std::size_t now = std::min(chunk, size - done);
    _ITM_memcpyRtWn(left, static_cast<const char*>(a) + done, now);
    _ITM_memcpyRtWn(right, static_cast<const char*>(b) + done, now);
    if (const int order = std::memcmp(left, right, now)) return order;
  }
  return 0;
}

void* clone_of_tm_realloc(void* block, std::size_t size) {
  if (block == nullptr) return _ITM_malloc(size);
  if (size == 0) {
    _ITM_free(block);
    return nullptr;
  }
  const std::size_t has = malloc_usable_size(block);
  if (size <= has && size >= has / 2) return block;
  void* const fresh = _ITM_malloc(size);
  if (fresh == nullptr) return nullptr;
  _ITM_memcpyRtWt(fresh, block, std::min(has, size));
  _ITM_free(block);
  return fresh;
}
