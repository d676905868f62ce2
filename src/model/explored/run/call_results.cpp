// call_results.cpp -- small results that the C library writes where the caller says: time as text,
// names, addresses, random states; and strings of wide characters, std::wstring's copies included.
// A race with them is found. They cost no time: only this machine looks at them.
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cwchar>

#include <arpa/inet.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "model/front/libc/call_memory.h"

namespace syncopate::instrument {
namespace {

void reads(const void* from, std::size_t bytes, engine::place where) {
  if (by_program(where)) call_reads(from, bytes, where);
}
void writes(const void* to, std::size_t bytes, engine::place where) {
  if (by_program(where)) call_wrote(to, bytes, where);
}
// What has been written as a string, if any has.
void writes_text(const char* text, engine::place where) {
  if (text != nullptr && by_program(where)) call_wrote(text, std::strlen(text) + 1, where);
}
std::size_t wide(std::size_t characters) { return characters * sizeof(wchar_t); }
std::size_t wide_text(const wchar_t* text) { return wide(SYNCOPATE_REAL(wcslen)(text) + 1); }

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

#define PLACE SYNCOPATE_CALLER
// Of a size that is known before: in a transaction what was there is kept.
#define RESULT(type, name, parameters, arguments, ...) \
  SYNCOPATE_EXPORT type name parameters {              \
    __VA_ARGS__;                                       \
    return SYNCOPATE_REAL(name) arguments;             \
  }
// Of one that is known behind the call. What it returned is `result`.
#define RESULT_BEHIND(type, name, parameters, arguments, ...) \
  SYNCOPATE_EXPORT type name parameters {                     \
    type const result = SYNCOPATE_REAL(name) arguments;       \
    __VA_ARGS__;                                              \
    return result;                                            \
  }

// ---- time ---------------------------------------------------------------------------------------

RESULT(std::tm*, gmtime_r, (const std::time_t* time, std::tm* to) noexcept, (time, to),
       reads(time, sizeof *time, PLACE), writes(to, sizeof *to, PLACE))
RESULT_BEHIND(char*, asctime_r, (const std::tm* time, char* to) noexcept, (time, to),
              reads(time, sizeof *time, PLACE), writes_text(result, PLACE))
RESULT_BEHIND(char*, ctime_r, (const std::time_t* time, char* to) noexcept, (time, to),
              reads(time, sizeof *time, PLACE), writes_text(result, PLACE))

// ---- random states ------------------------------------------------------------------------------

RESULT(int, rand_r, (unsigned* state) noexcept, (state), writes(state, sizeof *state, PLACE))
RESULT(double, erand48, (unsigned short state[3]) noexcept, (state), writes(state, 6, PLACE))
RESULT(long, nrand48, (unsigned short state[3]) noexcept, (state), writes(state, 6, PLACE))
RESULT(long, jrand48, (unsigned short state[3]) noexcept, (state), writes(state, 6, PLACE))

// ---- names, paths, addresses --------------------------------------------------------------------

RESULT_BEHIND(char*, strerror_r, (int error, char* to, std::size_t room) noexcept,
              (error, to, room), result == to ? writes_text(to, PLACE) : void())
RESULT_BEHIND(char*, getcwd, (char* to, std::size_t room) noexcept, (to, room),
              to != nullptr ? writes_text(result, PLACE) : void())
RESULT_BEHIND(int, gethostname, (char* to, std::size_t room) noexcept, (to, room),
              result == 0 ? writes_text(to, PLACE) : void())
RESULT(int, uname, (utsname * to) noexcept, (to), writes(to, sizeof *to, PLACE))
RESULT_BEHIND(int, inet_pton, (int family, const char* text, void* to) noexcept, (family, text, to),
              reads(text, std::strlen(text) + 1, PLACE),
              result == 1 ? writes(to, family == AF_INET ? 4 : 16, PLACE) : void())
RESULT_BEHIND(const char*, inet_ntop,
              (int family, const void* from, char* to, socklen_t room) noexcept,
              (family, from, to, room), reads(from, family == AF_INET ? 4 : 16, PLACE),
              writes_text(result, PLACE))

// ---- memory and wide characters -----------------------------------------------------------------

SYNCOPATE_EXPORT void swab(const void* from, void* to, ssize_t bytes) noexcept {
  const std::size_t both = bytes > 1 ? static_cast<std::size_t>(bytes) & ~std::size_t{1} : 0;
  reads(from, both, PLACE);
  writes(to, both, PLACE);
  SYNCOPATE_REAL(swab)(from, to, bytes);
}
SYNCOPATE_EXPORT void* memccpy(void* to, const void* from, int last, std::size_t bytes) noexcept {
  if (by_program(PLACE)) {
    const engine_scope inside;
    const void* const end = std::memchr(from, last, bytes);
    if (end != nullptr)
      bytes =
          static_cast<std::size_t>(static_cast<const char*>(end) - static_cast<const char*>(from)) +
          1;
  }
  reads(from, bytes, PLACE);
  writes(to, bytes, PLACE);
  return SYNCOPATE_REAL(memccpy)(to, from, last, bytes);
}
RESULT(wchar_t*, wmemcpy, (wchar_t * to, const wchar_t* from, std::size_t n) noexcept,
       (to, from, n), reads(from, wide(n), PLACE), writes(to, wide(n), PLACE))
RESULT(wchar_t*, wmemmove, (wchar_t * to, const wchar_t* from, std::size_t n) noexcept,
       (to, from, n), reads(from, wide(n), PLACE), writes(to, wide(n), PLACE))
RESULT(wchar_t*, wmemset, (wchar_t * to, wchar_t character, std::size_t n) noexcept,
       (to, character, n), writes(to, wide(n), PLACE))
RESULT(int, wmemcmp, (const wchar_t* a, const wchar_t* b, std::size_t n) noexcept, (a, b, n),
       reads(a, wide(n), PLACE), reads(b, wide(n), PLACE))
RESULT(std::size_t, wcslen, (const wchar_t* text) noexcept, (text),
       by_program(PLACE) ? reads(text, wide_text(text), PLACE) : void())
RESULT(wchar_t*, wcscpy, (wchar_t * to, const wchar_t* from) noexcept, (to, from),
       reads(from, wide_text(from), PLACE), writes(to, wide_text(from), PLACE))
