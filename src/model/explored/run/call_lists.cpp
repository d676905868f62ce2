// call_lists.cpp -- functions of the C library that write what a list of arguments says, for wide
// characters, and iconv(), which moves pointers along: what call_table.cpp's lines cannot say.
#include <cstdarg>
#include <cstdio>
#include <cwchar>
#include <string>

#include <iconv.h>

#include "model/front/libc/call_memory.h"
#include "model/front/libc/scan_names.h"

namespace syncopate::instrument {
namespace {

// Formats of wide characters have the letters of others.
std::string narrow(const wchar_t* format) {
  std::string text;
  for (; *format != 0; ++format) text += *format < 128 ? static_cast<char>(*format) : '?';
  return text;
}

int print(wchar_t* to, std::size_t room, const wchar_t* format, std::va_list list,
          engine::place where) {
  const int length = SYNCOPATE_REAL(vswprintf)(to, room, format, list);
  if (by_program(where) && length >= 0)
    call_wrote(to, (static_cast<std::size_t>(length) + 1) * sizeof *to, where);
  return length;
}

template <class From>
using scan_list = int(From, const wchar_t*, std::va_list);

template <class From>
int scan(scan_names& names, From from, const char* name, const wchar_t* format, std::va_list list,
         engine::place where) {
  auto* const real = real_scan<scan_list<From>>(names, name);
  if (!by_program(where)) return real(from, format, list);
  std::va_list written;
  va_copy(written, list);
  const int assigned = real(from, format, list);
  const auto tell = [&] {
    std::string letters;
    {
      const engine_scope inside;
      letters = narrow(format);
    }
    call_wrote_scanned(letters.c_str(), written, assigned, where);
    const engine_scope inside;
    std::string().swap(letters);
  };
  tell();
  va_end(written);
  return assigned;
}
constinit scan_names of_texts = SYNCOPATE_SCAN_NAMES(vswscanf);
constinit scan_names of_streams = SYNCOPATE_SCAN_NAMES(vfwscanf);

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT int vswprintf(wchar_t* to, std::size_t room, const wchar_t* format,
                               std::va_list list) noexcept {
  return print(to, room, format, list, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT int swprintf(wchar_t* to, std::size_t room, const wchar_t* format, ...) noexcept {
  std::va_list list;
  va_start(list, format);
  const int length = print(to, room, format, list, SYNCOPATE_CALLER);
  va_end(list);
  return length;
}

// By each of the names that headers give them.
#define SCAN(name, own, names, from, parameters)                                \
  SYNCOPATE_EXPORT int own parameters __asm__(name);                            \
  SYNCOPATE_EXPORT int own parameters {                                         \
    std::va_list list;                                                          \
    va_start(list, format);                                                     \
    const int result = scan(names, from, name, format, list, SYNCOPATE_CALLER); \
    va_end(list);                                                               \
    return result;                                                              \
  }
#define SCAN_LIST(name, own, names, from, parameters)               \
  SYNCOPATE_EXPORT int own parameters __asm__(name);                \
  SYNCOPATE_EXPORT int own parameters {                             \
    return scan(names, from, name, format, list, SYNCOPATE_CALLER); \
  }
#define SCANS(prefix, own)                                                            \
  SCAN(prefix "swscanf", own##swscanf, of_texts, text,                                \
       (const wchar_t* text, const wchar_t* format, ...))                             \
  SCAN_LIST(prefix "vswscanf", own##vswscanf, of_texts, text,                         \
            (const wchar_t* text, const wchar_t* format, std::va_list list))          \
  SCAN(prefix "fwscanf", own##fwscanf, of_streams, stream,                            \
       (std::FILE * stream, const wchar_t* format, ...))                              \
  SCAN_LIST(prefix "vfwscanf", own##vfwscanf, of_streams, stream,                     \
            (std::FILE * stream, const wchar_t* format, std::va_list list))           \
  SCAN(prefix "wscanf", own##wscanf, of_streams, stdin, (const wchar_t* format, ...)) \
  SCAN_LIST(prefix "vwscanf", own##vwscanf, of_streams, stdin,                        \
            (const wchar_t* format, std::va_list list))
SCANS("", syncopate_)
SCANS("__isoc99_", syncopate_99_)
SCANS("__isoc23_", syncopate_23_)

SYNCOPATE_EXPORT std::size_t iconv(iconv_t by, char** from, std::size_t* left, char** to,
                                   std::size_t* room) {
  const auto* const where = SYNCOPATE_CALLER;
  const bool is_seen = by_program(where);
  const char* const read = from != nullptr ? *from : nullptr;
  const char* const written = to != nullptr ? *to : nullptr;
  if (is_seen && read != nullptr) call_reads(read, *left, where);
  const results_of_call told(where, from, left, to, room);
  if (is_seen) call_wrote(by, 1, where);  // what it keeps of characters
  const std::size_t result = SYNCOPATE_REAL(iconv)(by, from, left, to, room);
  if (is_seen && written != nullptr)
    call_wrote(written, static_cast<std::size_t>(*to - written), where);
  return result;
}
