// libc_search.cpp -- the C library's functions that look for something in strings and memory, or
// take strings apart, and its one hash table. (libc_strings.cpp has those that copy and compare.)
#if !defined(__NO_INLINE__)
#define __NO_INLINE__ 1
#endif
#include <cstring>

#include <search.h>
#include <strings.h>

#include "model/front/libc/call_memory.h"
#include "model/front/libc/libc_search.h"

namespace syncopate::instrument {
namespace {

// What the C library remembers for all threads: the rest of what strtok() takes apart, and the
// table of hsearch(), whose memory is the program's.
struct remembered {
  char* rest;
  hsearch_data table;
};
constinit remembered of_all{};

// How much of a string is read by who finds something at `at`, `bytes` long, or nothing.
void read_up_to(const char* text, const char* at, std::size_t bytes, engine::place where) {
  if (at == nullptr) return call_reads_text(text, where);
  call_reads(text, static_cast<std::size_t>(at - text) + bytes, where);
}

// As far as two strings are the same but for case, or to their ends.
void read_common(const char* a, const char* b, std::size_t limit, engine::place where) {
  if (!by_program(where)) return;
  std::size_t n = 0;
  {
    const engine_scope inside;
    while (n < limit && strncasecmp(a + n, b + n, 1) == 0 && a[n] != '\0') ++n;
  }
  if (n < limit) ++n;
  call_reads(a, n, where);
  call_reads(b, n, where);
}

std::size_t span(const char* text, const char* set, bool of_the_set) {
  const engine_scope inside;
  return of_the_set ? std::strspn(text, set) : std::strcspn(text, set);
}

// The token that begins at or behind `text`, and its end.
struct token {
  char *begin, *end;
};
token next_token(char* text, const char* set, bool may_be_empty, engine::place where) {
  char* const begin = may_be_empty ? text : text + span(text, set, true);
  char* const end = begin + span(begin, set, false);
  call_reads_text(set, where);
  call_reads(text, static_cast<std::size_t>(end - text) + 1, where);
  if (*end != '\0') call_wrote(end, 1, where);
  return {begin, end};
}

char* take_token(char* text, const char* set, char** rest, engine::place where) {
  call_reads(rest, sizeof *rest, where);
  call_wrote(rest, sizeof *rest, where);
  if (text == nullptr) text = *rest;
  if (text == nullptr) return nullptr;
  const auto [begin, end] = next_token(text, set, false, where);
  *rest = end;
  if (*begin == '\0') return nullptr;
  if (*end != '\0') {
    *end = '\0';
    *rest = end + 1;
  }
  return begin;
}

}  // namespace

void forget_searches() { of_all = {}; }

}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT int strcasecmp(const char* a, const char* b) noexcept {
  read_common(a, b, SIZE_MAX, SYNCOPATE_CALLER);
  return SYNCOPATE_REAL(strcasecmp)(a, b);
}
SYNCOPATE_EXPORT int strncasecmp(const char* a, const char* b, std::size_t limit) noexcept {
  read_common(a, b, limit, SYNCOPATE_CALLER);
  return SYNCOPATE_REAL(strncasecmp)(a, b, limit);
}

#define SPAN(name)                                                                \
  SYNCOPATE_EXPORT std::size_t name(const char* text, const char* set) noexcept { \
    const std::size_t n = SYNCOPATE_REAL(name)(text, set);                        \
    if (const auto* const where = SYNCOPATE_CALLER; by_program(where)) {          \
      call_reads(text, n + 1, where);                                             \
      call_reads_text(set, where);                                                \
    }                                                                             \
    return n;                                                                     \
  }
SPAN(strspn)
SPAN(strcspn)

// The C++ headers give these two C++ names each; the symbols are C's.
using find_text = char*(const char*, const char*);
#define FIND_TEXT(name, bytes)                                                            \
  SYNCOPATE_EXPORT char* syncopate_##name(const char* text, const char* what) asm(#name); \
  char* syncopate_##name(const char* text, const char* what) {                            \
    static auto* const real = reinterpret_cast<find_text*>(dlsym(RTLD_NEXT, #name));      \
    char* const found = real(text, what);                                                 \
    if (const auto* const where = SYNCOPATE_CALLER; by_program(where)) {                  \
      read_up_to(text, found, bytes, where);                                              \
      call_reads_text(what, where);                                                       \
    }                                                                                     \
    return found;                                                                         \
  }
static std::size_t length_unseen(const char* text) {
  const engine_scope inside;
  return std::strlen(text);
}
FIND_TEXT(strstr, length_unseen(what))
FIND_TEXT(strcasestr, length_unseen(what))
FIND_TEXT(strpbrk, 1)

SYNCOPATE_EXPORT char* strtok_r(char* text, const char* set, char** rest) noexcept {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(strtok_r)(text, set, rest);
  return take_token(text, set, rest, where);
}
SYNCOPATE_EXPORT char* strtok(char* text, const char* set) noexcept {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(strtok)(text, set);
  return take_token(text, set, &of_all.rest, where);
}
SYNCOPATE_EXPORT char* strsep(char** text, const char* set) noexcept {
  const auto* const where = SYNCOPATE_CALLER;
  if (!by_program(where)) return SYNCOPATE_REAL(strsep)(text, set);
  call_reads(text, sizeof *text, where);
  if (*text == nullptr) return nullptr;
  call_wrote(text, sizeof *text, where);
  const auto [begin, end] = next_token(*text, set, true, where);
  *text = *end != '\0' ? end + 1 : nullptr;
  if (*end != '\0') *end = '\0';
  return begin;
}

SYNCOPATE_EXPORT int hcreate(std::size_t entries) noexcept {
  if (const auto* const where = SYNCOPATE_CALLER; by_program(where))
    call_wrote(&of_all.table, sizeof of_all.table, where);
  return ::hcreate_r(entries, &of_all.table);
}
SYNCOPATE_EXPORT void hdestroy() noexcept {
  if (const auto* const where = SYNCOPATE_CALLER; by_program(where))
    call_wrote(&of_all.table, sizeof of_all.table, where);
  ::hdestroy_r(&of_all.table);
}
SYNCOPATE_EXPORT ENTRY* hsearch(ENTRY item, ACTION action) noexcept {
  if (const auto* const where = SYNCOPATE_CALLER; by_program(where)) {
    call_reads_text(item.key, where);
    if (action == ENTER) call_wrote(&of_all.table, sizeof of_all.table, where);
    else call_reads(&of_all.table, sizeof of_all.table, where);
  }
  ENTRY* found = nullptr;
  ::hsearch_r(item, action, &found, &of_all.table);
  return found;
}
