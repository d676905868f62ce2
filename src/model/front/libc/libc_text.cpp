// libc_text.cpp -- text that the C library makes in memory, or makes numbers of. What a call reads
// and writes is announced before it, since a transaction has to keep what was there.
#if !defined(__NO_INLINE__)
#define __NO_INLINE__ 1
#endif
#undef _FORTIFY_SOURCE
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <algorithm>
#include <cstring>
#include <string>

#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/call_memory.h"
#include "model/front/libc/scan_names.h"

namespace syncopate::instrument {
namespace {

constexpr std::size_t no_limit = SIZE_MAX;  // sprintf's

int print_unseen(char* to, std::size_t room, const char* format, std::va_list list) {
  return room == no_limit ? SYNCOPATE_REAL(vsprintf)(to, format, list)
                          : SYNCOPATE_REAL(vsnprintf)(to, room, format, list);
}

int print(char* to, std::size_t room, const char* format, std::va_list list, engine::place where) {
  if (!by_program(where)) return print_unseen(to, room, format, list);
  call_reads_format(format, list, where);
  std::va_list again;
  va_copy(again, list);
  const int length = SYNCOPATE_REAL(vsnprintf)(nullptr, 0, format, again);
  va_end(again);
  if (length >= 0) call_wrote(to, std::min(room, static_cast<std::size_t>(length) + 1), where);
  return print_unseen(to, room, format, list);
}

int print_anew(char** to, const char* format, std::va_list list, engine::place where) {
  const bool seen = by_program(where);
  if (seen) call_reads_format(format, list, where);
  const int length = SYNCOPATE_REAL(vasprintf)(to, format, list);
  if (seen) call_wrote(to, sizeof *to, where);
  return length;
}

// ---- sscanf() ----------------------------------------------------------------------------------

using scan_list = int(const char*, const char*, std::va_list);

// Behind a conversion's flags, width and sizes; of a set of characters, which may have a '%' among
// them, behind its last.
const char* behind_conversion(const char* at) {
  at += std::strspn(at, "*'I0123456789$mhlLqjzt");
  if (*at != '[') return at;
  ++at;
  if (*at == '^') ++at;
  if (*at == ']') ++at;
  return at + std::strcspn(at, "]");
}

// The same conversions, of which none is kept.
std::string without_results(const char* format) {
  std::string result;
  for (const char* at = format; *at != '\0';) {
    result += *at++;
    if (at[-1] != '%') continue;
    if (*at == '%') {
      result += *at++;
      continue;
    }
    if (*at != '*') result += '*';
    const char* const end = behind_conversion(at);
    result.append(at, end);
    at = end;
  }
  return result;
}

int scan_nothing(std::FILE* stream, const char* format, ...) {
  std::va_list none;
  va_start(none, format);
  const int result = SYNCOPATE_REAL(vfscanf)(stream, format, none);
  va_end(none);
  return result;
}

// How many characters a scan takes: a stream of the same text tells. What it looks at is one more.
std::size_t scanned_bytes(const char* text, const char* format) {
  const engine_scope inside;
  const std::size_t length = std::strlen(text);
  std::FILE* const stream =
      length != 0 ? ::fmemopen(const_cast<char*>(text), length, "r") : nullptr;
  if (stream == nullptr) return length + 1;
  scan_nothing(stream, without_results(format).c_str());
  const long taken = std::ftell(stream);
  std::fclose(stream);
  return taken < 0 ? length + 1 : std::min(length, static_cast<std::size_t>(taken)) + 1;
}

// How much it writes is known only afterwards: too late for what a hardware transaction takes back.
int scan(const char* text, const char* name, const char* format, std::va_list list,
         engine::place where) {
  static constinit scan_names names = SYNCOPATE_SCAN_NAMES(vsscanf);
  auto* const real = real_scan<scan_list>(names, name);
  if (!by_program(where)) return real(text, format, list);
  if (in_transaction()) {
    const engine_scope inside;
    engine::htm_unfriendly(where);
  }
  call_reads_text(format, where);
  call_reads(text, scanned_bytes(text, format), where);
  std::va_list written;
  va_copy(written, list);
  const int assigned = real(text, format, list);
  call_wrote_scanned(format, written, assigned, where);
  va_end(written);
  return assigned;
}

// A number is read up to the character that ends it.
template <class Number, class Convert>
Number convert(const char* text, char** end, engine::place where, Convert real) {
  char* behind = nullptr;
  const Number value = real(text, &behind);
  if (by_program(where)) {
    call_reads(text, static_cast<std::size_t>(behind - text) + 1, where);
    if (end != nullptr) call_wrote(end, sizeof *end, where);
  }
  if (end != nullptr) *end = behind;
  return value;
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT int vsnprintf(char* to, std::size_t room, const char* format,
                               std::va_list list) noexcept {
  return print(to, room, format, list, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int vsprintf(char* to, const char* format, std::va_list list) noexcept {
  return print(to, no_limit, format, list, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int snprintf(char* to, std::size_t room, const char* format, ...) noexcept {
  std::va_list list;
  va_start(list, format);
  const int length = print(to, room, format, list, SYNCOPATE_CALLER);
  va_end(list);
  return length;
}
SYNCOPATE_EXPORT int sprintf(char* to, const char* format, ...) noexcept {
  std::va_list list;
  va_start(list, format);
  const int length = print(to, no_limit, format, list, SYNCOPATE_CALLER);
  va_end(list);
  return length;
}
SYNCOPATE_EXPORT int vasprintf(char** to, const char* format, std::va_list list) noexcept {
  return print_anew(to, format, list, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int asprintf(char** to, const char* format, ...) noexcept {
  std::va_list list;
  va_start(list, format);
  const int length = print_anew(to, format, list, SYNCOPATE_CALLER);
  va_end(list);
  return length;
}

#define CONVERT(type, name)                                                              \
  SYNCOPATE_EXPORT type name(const char* text, char** end, int base) noexcept {          \
    return convert<type>(text, end, SYNCOPATE_CALLER, [=](const char* from, char** to) { \
      return SYNCOPATE_REAL(name)(from, to, base);                                       \
    });                                                                                  \
  }
CONVERT(long, strtol)
CONVERT(unsigned long, strtoul)
CONVERT(long long, strtoll)
CONVERT(unsigned long long, strtoull)
#undef CONVERT
#define CONVERT(type, name)                                                  \
  SYNCOPATE_EXPORT type name(const char* text, char** end) noexcept {        \
    return convert<type>(text, end, SYNCOPATE_CALLER, SYNCOPATE_REAL(name)); \
  }
CONVERT(float, strtof)
CONVERT(double, strtod)
CONVERT(long double, strtold)
#define CONVERT_ALL(type, name, by, ...)                                                    \
  SYNCOPATE_EXPORT type name(const char* text) noexcept {                                   \
    return convert<type>(text, nullptr, SYNCOPATE_CALLER, [](const char* from, char** to) { \
      return static_cast<type>(SYNCOPATE_REAL(by)(from, to __VA_OPT__(, ) __VA_ARGS__));    \
    });                                                                                     \
  }
CONVERT_ALL(int, atoi, strtol, 10)
CONVERT_ALL(long, atol, strtol, 10)
CONVERT_ALL(long long, atoll, strtoll, 10)
CONVERT_ALL(double, atof, strtod)

// sscanf, by each of the names that headers give it.
#define SCANS(prefix, own)                                                                     \
  SYNCOPATE_EXPORT int own##sscanf(const char* text, const char* format,                       \
                                   ...) __asm__(prefix "sscanf");                              \
  SYNCOPATE_EXPORT int own##sscanf(const char* text, const char* format, ...) {                \
    std::va_list list;                                                                         \
    va_start(list, format);                                                                    \
    const int result = scan(text, prefix "sscanf", format, list, SYNCOPATE_CALLER);            \
    va_end(list);                                                                              \
    return result;                                                                             \
  }                                                                                            \
  SYNCOPATE_EXPORT int own##vsscanf(const char* text, const char* format,                      \
                                    std::va_list) __asm__(prefix "vsscanf");                   \
  SYNCOPATE_EXPORT int own##vsscanf(const char* text, const char* format, std::va_list list) { \
    return scan(text, prefix "vsscanf", format, list, SYNCOPATE_CALLER);                       \
  }
SCANS("", syncopate_)
SCANS("__isoc99_", syncopate_99_)
SCANS("__isoc23_", syncopate_23_)
