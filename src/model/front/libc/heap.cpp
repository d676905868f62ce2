#include "model/front/libc/heap.h"

#include <bit>
#include <cerrno>

#include <sys/mman.h>

#include "model/front/scope.h"

namespace syncopate::instrument {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t smallest = 32;
constexpr std::size_t large = std::size_t{128} << 10;
constexpr std::size_t region = std::size_t{132} << 10;  // as glibc extends its heap

// Sizes of chunks: multiples of 16 up to 1 KiB, then eight for each doubling.
constexpr unsigned class_of(std::size_t bytes) noexcept {
  if (bytes <= 1024) return static_cast<unsigned>((bytes + 15) / 16);
  const std::size_t last = bytes - 1;
  const unsigned power = static_cast<unsigned>(std::bit_width(last)) - 1;
  return 65 + (power - 10) * 8 + static_cast<unsigned>((last >> (power - 3)) - 8);
}
constexpr std::size_t class_bytes(unsigned which) noexcept {
  if (which <= 64) return which * std::size_t{16};
  return std::size_t{9 + (which - 65) % 8} << ((which - 65) / 8 + 7);
}
static_assert(class_bytes(class_of(1025)) == 1152 && class_bytes(class_of(2048)) == 2048 &&
              class_bytes(class_of(large)) == large && class_of(layout::heap_bytes) < heap_classes);

// The word before a block: which class its chunk has and how far from the chunk's start the block
// is.
struct header {
  std::uint64_t which : 16;
  std::uint64_t offset : 48;
};
header& header_of(void* block) noexcept { return static_cast<header*>(block)[-1]; }
static_assert(sizeof(header) == 8);

// The heap's range is taken at the first block; less of it where address space is limited.
bool map_heap() noexcept {
  const int before = errno;
  for (std::size_t bytes = layout::heap_bytes; bytes >= std::size_t{64} << 20; bytes /= 2) {
    void* at = ::mmap(reinterpret_cast<void*>(layout::heap), bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != MAP_FAILED) {
      program_heap.end = layout::heap + bytes - page;  // blocks reach 8 bytes beyond their chunk
      errno = before;
      return true;
    }
  }
  return false;
}

std::uintptr_t take(std::size_t bytes, std::size_t alignment) noexcept {
  if (program_heap.end == 0 && !map_heap()) return 0;
  const std::uintptr_t start = (program_heap.next + alignment - 1) & ~(alignment - 1);
  if (bytes > program_heap.end - start) return 0;
  program_heap.next = start + bytes;
  return start;
}

std::uintptr_t new_small_chunk(heap_cache& cache, std::size_t bytes) noexcept {
  if (cache.end - cache.next < bytes) {
    if (cache.end != 0 && cache.end == program_heap.next) {
      if (take(region, 1) == 0) return 0;
      cache.end += region;
    } else {
      const std::uintptr_t start = take(region, page);
      if (start == 0) return 0;
      cache.next = start;
      cache.end = start + region;
    }
  }
  const std::uintptr_t chunk = cache.next;
  cache.next += bytes;
  return chunk;
}

void** list_of(heap_cache& cache, unsigned which) noexcept {
  return class_bytes(which) < large ? &cache.free[which] : &program_heap.free[which];
}

}  // namespace

heap_result heap_allocate(heap_cache& cache, std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t slack = alignment > 16 ? alignment : 0;
  if (bytes > layout::heap_bytes / 2 || slack > layout::heap_bytes / 2) return {nullptr, false};
  std::size_t wanted = bytes + slack + 8;
  if (wanted < smallest) wanted = smallest;
  const unsigned which = class_of(wanted);
  const std::size_t size = class_bytes(which);

  void** list = list_of(cache, which);
  std::uintptr_t chunk;
  bool zeroed = false;
  if (*list != nullptr) {
    void* block = *list;
    *list = *static_cast<void**>(block);
    chunk = reinterpret_cast<std::uintptr_t>(block) - 16;
  } else {
    chunk =
        size < large ? new_small_chunk(cache, size) : take((size + page - 1) & ~(page - 1), page);
    if (chunk == 0) return {nullptr, false};
    zeroed = chunk >= program_heap.zero_from;
  }
  std::uintptr_t block = chunk + 16;
  if (slack != 0) block = (block + alignment - 1) & ~(alignment - 1);
  void* result = reinterpret_cast<void*>(block);
  header_of(result) = {which, block - chunk};
  return {result, zeroed};
}

void heap_release(heap_cache& cache, void* block) noexcept {
  const header known = header_of(block);
  // Chunks wait in their list by where an ordinary block would start.
  void* ordinary =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(block) - known.offset + 16);
  void** list = list_of(cache, static_cast<unsigned>(known.which));
  *static_cast<void**>(ordinary) = *list;
  *list = ordinary;
}

std::size_t heap_usable(const void* block) noexcept {
  const header known = header_of(const_cast<void*>(block));
  return class_bytes(static_cast<unsigned>(known.which)) + 8 - known.offset;
}

}  // namespace syncopate::instrument
