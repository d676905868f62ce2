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

#include "model/front/libc/call_memory.h"

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
