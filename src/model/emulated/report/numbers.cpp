// numbers.cpp -- numbers out of text, in transactions: what the C library reads and writes
// there is announced.

// The C library's headers define some of these inline.
#if !defined(__NO_INLINE__)
#define __NO_INLINE__ 1
#endif
#include <cstdlib>
#include <cstring>

#include "model/front/libc/libc_range.h"

namespace syncopate::emulated {

namespace {

void reads_text(const char* text, engine::place where) noexcept {
  if (!instrument::by_program(where)) return;
  for (std::size_t seen = 0;;) {
    const std::size_t bytes = SYNCOPATE_REAL(strlen)(text) + 1;
    if (bytes == seen) return;  // nobody's roll-back has changed it
    instrument::announce(text, bytes, engine::kind::read, where);
    seen = bytes;
  }
}

void writes_end(char** end, engine::place where) noexcept {
  if (end == nullptr || !instrument::by_program(where)) return;
  instrument::announce(end, sizeof *end, engine::kind::write, where);
}

}  // namespace

}  // namespace syncopate::emulated

#define ANNOUNCED                                          \
  syncopate::emulated::reads_text(text, SYNCOPATE_CALLER); \
  syncopate::emulated::writes_end(end, SYNCOPATE_CALLER)
#define INTEGER(type, name)                                                     \
  SYNCOPATE_EXPORT type name(const char* text, char** end, int base) noexcept { \
    ANNOUNCED;                                                                  \
    return SYNCOPATE_REAL(name)(text, end, base);                               \
  }
#define FLOATING(type, name)                                          \
  SYNCOPATE_EXPORT type name(const char* text, char** end) noexcept { \
    ANNOUNCED;                                                        \
    return SYNCOPATE_REAL(name)(text, end);                           \
  }
#define WHOLE_TEXT(type, name)                               \
  SYNCOPATE_EXPORT type name(const char* text) noexcept {    \
    syncopate::emulated::reads_text(text, SYNCOPATE_CALLER); \
    return SYNCOPATE_REAL(name)(text);                       \
  }

INTEGER(long, strtol)
INTEGER(unsigned long, strtoul)
INTEGER(long long, strtoll)
INTEGER(unsigned long long, strtoull)
FLOATING(float, strtof)
FLOATING(double, strtod)
FLOATING(long double, strtold)
WHOLE_TEXT(int, atoi)
WHOLE_TEXT(long, atol)
WHOLE_TEXT(long long, atoll)
WHOLE_TEXT(double, atof)
