// malloc_names.cpp -- malloc and its relatives, operator new and delete, by name; what they do
// is the machine's (malloc_seam.h).
#include <cerrno>
#include <new>

#include <malloc.h>

#include "model/front/libc/malloc_seam.h"
#include "model/front/pthread/real.h"

namespace syncopate::instrument {
namespace {

void* aligned_or_null(std::size_t alignment, std::size_t bytes, engine::place where) {
  void* block = nullptr;
  const int error = allocate_aligned(block, alignment, bytes, where);
  if (error != 0) errno = error;
  return block;
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
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT void* malloc(std::size_t bytes) { return allocate_any(bytes, SYNCOPATE_CALLER); }

SYNCOPATE_EXPORT void* calloc(std::size_t count, std::size_t each) {
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
  return reallocate_any(block, bytes, SYNCOPATE_CALLER);
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
// (Unlike memalign, whatever rounds up an alignment that C does not know.)
SYNCOPATE_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return aligned_or_null(alignment, bytes, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* got = nullptr;
  const int error = allocate_aligned(got, alignment, bytes, SYNCOPATE_CALLER);
  if (error != 0) return error;
  *block = got;
  told_block(block, SYNCOPATE_CALLER);
  return 0;
}
SYNCOPATE_EXPORT void* valloc(std::size_t bytes) {
  return aligned_or_null(4096, bytes, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT std::size_t malloc_usable_size(void* block) {
  return block == nullptr ? 0 : usable_bytes(block);
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
