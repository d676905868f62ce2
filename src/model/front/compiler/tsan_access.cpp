// tsan_access.cpp -- what gcc and clang call under -fsanitize=thread before each plain access.
#include <access_seam.h>

#include "model/front/pthread/real.h"

using syncopate::engine::kind;
using namespace syncopate::instrument;

#define ACCESS(name, bytes, what) \
  SYNCOPATE_EXPORT void name(void* at) { access(at, bytes, kind::what, SYNCOPATE_CALLER); }
#define UNALIGNED(name, bytes, what)                           \
  SYNCOPATE_EXPORT void name(void* at) {                       \
    access_unaligned(at, bytes, kind::what, SYNCOPATE_CALLER); \
  }
#define READ_WRITE(name, bytes) \
  SYNCOPATE_EXPORT void name(void* at) { access_update(at, bytes, SYNCOPATE_CALLER); }
#define ACCESS_AT(name, bytes, what) \
  SYNCOPATE_EXPORT void name(void* at, void* place) { access(at, bytes, kind::what, place); }

#define ACCESSES(bytes)                              \
  ACCESS(__tsan_read##bytes, bytes, read)            \
  ACCESS(__tsan_write##bytes, bytes, write)          \
  ACCESS(__tsan_volatile_read##bytes, bytes, read)   \
  ACCESS(__tsan_volatile_write##bytes, bytes, write) \
  READ_WRITE(__tsan_read_write##bytes, bytes)        \
  ACCESS_AT(__tsan_read##bytes##_pc, bytes, read)    \
  ACCESS_AT(__tsan_write##bytes##_pc, bytes, write)
#define UNALIGNED_ACCESSES(bytes)                                 \
  UNALIGNED(__tsan_unaligned_read##bytes, bytes, read)            \
  UNALIGNED(__tsan_unaligned_write##bytes, bytes, write)          \
  UNALIGNED(__tsan_unaligned_volatile_read##bytes, bytes, read)   \
  UNALIGNED(__tsan_unaligned_volatile_write##bytes, bytes, write) \
  READ_WRITE(__tsan_unaligned_read_write##bytes, bytes)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
UNALIGNED_ACCESSES(2)
UNALIGNED_ACCESSES(4)
UNALIGNED_ACCESSES(8)
UNALIGNED_ACCESSES(16)

SYNCOPATE_EXPORT void __tsan_read_range(void* at, std::size_t bytes) {
  access_range(at, bytes, kind::read, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT void __tsan_write_range(void* at, std::size_t bytes) {
  access_range(at, bytes, kind::write, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT void __tsan_read_range_pc(void* at, std::size_t bytes, void* place) {
  access_range(at, bytes, kind::read, place);
}
SYNCOPATE_EXPORT void __tsan_write_range_pc(void* at, std::size_t bytes, void* place) {
  access_range(at, bytes, kind::write, place);
}

SYNCOPATE_EXPORT void __tsan_vptr_read(void** at) {
  access(at, sizeof *at, kind::read, SYNCOPATE_CALLER);
}
// Constructors and destructors set the pointer to the value it has already, too; the store is made.
SYNCOPATE_EXPORT void __tsan_vptr_update(void** at, void*) {
  access(at, sizeof *at, kind::write, SYNCOPATE_CALLER);
}
