// libc_strings.cpp -- the C library's functions on memory and strings. Its code is not
// instrumented: what a call reads and writes is announced as ranges, then the C library does the
// work.
// What is announced depends on the strings' length, and the announcement may make others roll back
// what they wrote: so what was found out before is found out again after.
#include <cstring>

#include <strings.h>

#include "model/front/libc/libc_copy.h"
#include "model/front/libc/libc_range.h"

namespace syncopate::instrument {
namespace {

using engine::kind;
using engine::place;

void reads(const void* p, std::size_t n, place where) { announce(p, n, kind::read, where); }
void writes(void* p, std::size_t n, place where) { announce(p, n, kind::write, where); }
void copies(void* to, const void* from, std::size_t n, place where) {
  reads(from, n, where);
  writes(to, n, where);
}

// Announces what `measure` says will be looked at, until that stays the same.
template <class Measure, class Announce>
std::size_t settled(bool seen, Measure measure, Announce announce) {
  std::size_t n = measure();
  if (!seen) return n;
  for (;;) {
    announce(n);
    const std::size_t now = measure();
    if (now == n) return n;
    n = now;
  }
}

// How much of two strings a comparison looks at.
std::size_t common(const char* a, const char* b, std::size_t limit) {
  std::size_t i = 0;
  while (i < limit && a[i] == b[i] && a[i] != '\0') ++i;
  return i < limit ? i + 1 : limit;
}
std::size_t length(const char* s, std::size_t limit = SIZE_MAX) {
  return SYNCOPATE_REAL(strnlen)(s, limit);
}
std::size_t with_end(std::size_t n, std::size_t limit) { return n < limit ? n + 1 : limit; }

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

#define PLACE SYNCOPATE_CALLER
#define SEEN (by_program(SYNCOPATE_CALLER))

// ---- memory ------------------------------------------------------------------------------------

SYNCOPATE_EXPORT void* memcpy(void* to, const void* from, std::size_t n) noexcept {
  if (SEEN) copies(to, from, n, PLACE);
  return real_memcpy(to, from, n);
}
SYNCOPATE_EXPORT void* __memcpy_chk(void* to, const void* from, std::size_t n, std::size_t room) {
  if (n > room) __builtin_trap();
  if (SEEN) copies(to, from, n, PLACE);
  return real_memcpy(to, from, n);
}
// clang emits these names for what it knows to be a copy.
SYNCOPATE_EXPORT void* __tsan_memcpy(void* to, const void* from, std::size_t n) {
  if (SEEN) copies(to, from, n, PLACE);
  return real_memcpy(to, from, n);
}
SYNCOPATE_EXPORT void* mempcpy(void* to, const void* from, std::size_t n) noexcept {
  if (SEEN) copies(to, from, n, PLACE);
  return static_cast<char*>(real_memcpy(to, from, n)) + n;
}
SYNCOPATE_EXPORT void* __mempcpy_chk(void* to, const void* from, std::size_t n, std::size_t room) {
  if (n > room) __builtin_trap();
  if (SEEN) copies(to, from, n, PLACE);
  return static_cast<char*>(real_memcpy(to, from, n)) + n;
}
SYNCOPATE_EXPORT void* memmove(void* to, const void* from, std::size_t n) noexcept {
  if (SEEN) copies(to, from, n, PLACE);
  return real_memmove(to, from, n);
}
SYNCOPATE_EXPORT void* __memmove_chk(void* to, const void* from, std::size_t n, std::size_t room) {
  if (n > room) __builtin_trap();
  if (SEEN) copies(to, from, n, PLACE);
  return real_memmove(to, from, n);
}
SYNCOPATE_EXPORT void* __tsan_memmove(void* to, const void* from, std::size_t n) {
  if (SEEN) copies(to, from, n, PLACE);
  return real_memmove(to, from, n);
}
SYNCOPATE_EXPORT void bcopy(const void* from, void* to, std::size_t n) noexcept {
  if (SEEN) copies(to, from, n, PLACE);
  real_memmove(to, from, n);
}
SYNCOPATE_EXPORT void* memset(void* to, int byte, std::size_t n) noexcept {
  if (SEEN) writes(to, n, PLACE);
  return real_memset(to, byte, n);
}
SYNCOPATE_EXPORT void* __memset_chk(void* to, int byte, std::size_t n, std::size_t room) {
  if (n > room) __builtin_trap();
  if (SEEN) writes(to, n, PLACE);
  return real_memset(to, byte, n);
}
SYNCOPATE_EXPORT void* __tsan_memset(void* to, int byte, std::size_t n) {
  if (SEEN) writes(to, n, PLACE);
  return real_memset(to, byte, n);
}
SYNCOPATE_EXPORT void bzero(void* to, std::size_t n) noexcept {
  if (SEEN) writes(to, n, PLACE);
  real_memset(to, 0, n);
}
SYNCOPATE_EXPORT void explicit_bzero(void* to, std::size_t n) noexcept {
  if (SEEN) writes(to, n, PLACE);
  real_memset(to, 0, n);
}

// The C library compares whole vectors; a difference early in a long range is rare.
static int compare_memory(const void* a, const void* b, std::size_t n, const void* where) {
  const auto* x = static_cast<const unsigned char*>(a);
  const auto* y = static_cast<const unsigned char*>(b);
  const auto looked_at = [=] {
    std::size_t same = 0;
    while (same < n && x[same] == y[same]) ++same;
    return same < n ? same + 1 : n;
  };
  if (by_program(where)) {
    settled(true, looked_at, [=](std::size_t bytes) {
      reads(a, bytes, where);
      reads(b, bytes, where);
    });
  }
  return SYNCOPATE_REAL(memcmp)(a, b, n);
}
SYNCOPATE_EXPORT int memcmp(const void* a, const void* b, std::size_t n) noexcept {
  return compare_memory(a, b, n, PLACE);
}
SYNCOPATE_EXPORT int bcmp(const void* a, const void* b, std::size_t n) noexcept {
  return compare_memory(a, b, n, PLACE);
}

using find_byte = const void*(const void*, int, std::size_t);
static void* find_in(find_byte* real, const void* s, int byte, std::size_t n, const void* where) {
  const void* found = nullptr;
  const auto looked_at = [&] {
    found = real(s, byte, n);
    const auto distance = static_cast<const char*>(found) - static_cast<const char*>(s);
    return found != nullptr ? static_cast<std::size_t>(distance) + 1 : n;
  };
  settled(by_program(where), looked_at, [=](std::size_t bytes) { reads(s, bytes, where); });
  return const_cast<void*>(found);
}
// The C++ headers give memchr and its like two C++ names each; the symbols are C's.
SYNCOPATE_EXPORT void* syncopate_memchr(const void* s, int byte, std::size_t n) asm("memchr");
void* syncopate_memchr(const void* s, int byte, std::size_t n) {
  static auto* const real = reinterpret_cast<find_byte*>(dlsym(RTLD_NEXT, "memchr"));
  return find_in(real, s, byte, n, PLACE);
}

// ---- strings -----------------------------------------------------------------------------------

// The length of a string that is read up to there.
static std::size_t read_length(const char* s, std::size_t limit, const void* where) {
  return settled(
      by_program(where), [=] { return length(s, limit); },
      [=](std::size_t n) { reads(s, with_end(n, limit), where); });
}
SYNCOPATE_EXPORT std::size_t strlen(const char* s) noexcept {
  return read_length(s, SIZE_MAX, PLACE);
}
SYNCOPATE_EXPORT std::size_t strnlen(const char* s, std::size_t limit) noexcept {
  return read_length(s, limit, PLACE);
}

static char* copy_string(char* to, const char* from, const void* where) {
  const std::size_t n = read_length(from, SIZE_MAX, where);
  if (by_program(where)) writes(to, n + 1, where);
  real_memmove(to, from, n + 1);
  return to + n;
}
SYNCOPATE_EXPORT char* strcpy(char* to, const char* from) noexcept {
  copy_string(to, from, PLACE);
  return to;
}
SYNCOPATE_EXPORT char* __strcpy_chk(char* to, const char* from, std::size_t room) {
  if (length(from) >= room) __builtin_trap();
  copy_string(to, from, PLACE);
  return to;
}
SYNCOPATE_EXPORT char* stpcpy(char* to, const char* from) noexcept {
  return copy_string(to, from, PLACE);
}
SYNCOPATE_EXPORT char* __stpcpy_chk(char* to, const char* from, std::size_t room) {
  if (length(from) >= room) __builtin_trap();
  return copy_string(to, from, PLACE);
}

static char* copy_at_most(char* to, const char* from, std::size_t n, const void* where) {
  const std::size_t got = read_length(from, n, where);
  if (by_program(where)) writes(to, n, where);
  real_memmove(to, from, got);
  real_memset(to + got, 0, n - got);
  return to;
}
SYNCOPATE_EXPORT char* strncpy(char* to, const char* from, std::size_t n) noexcept {
  return copy_at_most(to, from, n, PLACE);
}
SYNCOPATE_EXPORT char* __strncpy_chk(char* to, const char* from, std::size_t n, std::size_t room) {
  if (n > room) __builtin_trap();
  return copy_at_most(to, from, n, PLACE);
}

static char* append(char* to, const char* from, std::size_t n, const void* where) {
  const std::size_t had = read_length(to, SIZE_MAX, where);
  const std::size_t more = read_length(from, n, where);
  if (by_program(where)) writes(to + had, more + 1, where);
  real_memmove(to + had, from, more);
  to[had + more] = '\0';
  return to;
}
SYNCOPATE_EXPORT char* strcat(char* to, const char* from) noexcept {
  return append(to, from, SIZE_MAX, PLACE);
}
SYNCOPATE_EXPORT char* __strcat_chk(char* to, const char* from, std::size_t room) {
  if (length(to) + length(from) >= room) __builtin_trap();
  return append(to, from, SIZE_MAX, PLACE);
}
SYNCOPATE_EXPORT char* strncat(char* to, const char* from, std::size_t n) noexcept {
  return append(to, from, n, PLACE);
}
SYNCOPATE_EXPORT char* __strncat_chk(char* to, const char* from, std::size_t n, std::size_t room) {
  if (length(to) + length(from, n) >= room) __builtin_trap();
  return append(to, from, n, PLACE);
}

static void read_common(const char* a, const char* b, std::size_t limit, const void* where) {
  if (!by_program(where)) return;
  settled(
      true, [=] { return common(a, b, limit); },
      [=](std::size_t n) {
        reads(a, n, where);
        reads(b, n, where);
      });
}
SYNCOPATE_EXPORT int strcmp(const char* a, const char* b) noexcept {
  read_common(a, b, SIZE_MAX, PLACE);
  return SYNCOPATE_REAL(strcmp)(a, b);
}
SYNCOPATE_EXPORT int strncmp(const char* a, const char* b, std::size_t limit) noexcept {
  read_common(a, b, limit, PLACE);
  return SYNCOPATE_REAL(strncmp)(a, b, limit);
}

using find_char = char*(const char*, int);
static char* find_in_string(find_char* real, const char* s, int c, bool from_end,
                            const void* where) {
  char* found = nullptr;
  const auto looked_at = [&] {
    found = real(s, c);
    const bool whole = from_end || found == nullptr;
    return whole ? length(s) + 1 : static_cast<std::size_t>(found - s) + 1;
  };
  settled(by_program(where), looked_at, [=](std::size_t n) { reads(s, n, where); });
  return found;
}
#define FIND_IN_STRING(name, from_end)                                               \
  SYNCOPATE_EXPORT char* syncopate_##name(const char* s, int c) asm(#name);          \
  char* syncopate_##name(const char* s, int c) {                                     \
    static auto* const real = reinterpret_cast<find_char*>(dlsym(RTLD_NEXT, #name)); \
    return find_in_string(real, s, c, from_end, PLACE);                              \
  }
FIND_IN_STRING(strchr, false)
FIND_IN_STRING(strchrnul, false)
FIND_IN_STRING(strrchr, true)

SYNCOPATE_EXPORT char* strdup(const char* s) noexcept {
  const std::size_t n = read_length(s, SIZE_MAX, PLACE) + 1;
  auto* copy = static_cast<char*>(malloc(n));
  if (copy == nullptr) return nullptr;
  if (SEEN) writes(copy, n, PLACE);
  return static_cast<char*>(real_memcpy(copy, s, n));
}
SYNCOPATE_EXPORT char* strndup(const char* s, std::size_t limit) noexcept {
  const std::size_t n = read_length(s, limit, PLACE);
  auto* copy = static_cast<char*>(malloc(n + 1));
  if (copy == nullptr) return nullptr;
  if (SEEN) writes(copy, n, PLACE);
  real_memcpy(copy, s, n);
  copy[n] = '\0';
  return copy;
}
