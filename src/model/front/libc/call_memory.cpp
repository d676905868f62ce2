#include "model/front/libc/call_memory.h"

#include <algorithm>
#include <climits>
#include <cwchar>

namespace syncopate::instrument {
namespace {

// The kernel refuses more.
bool is_list(const iovec* parts, std::size_t count) {
  return parts != nullptr && count != 0 && count <= IOV_MAX;
}

// One conversion of a format: behind its '%', up to and with its letter.
struct conversion {
  bool width_is_given = false, precision_is_given = false;  // by an argument
  int precision = -1;
  unsigned longs = 0;  // l, ll, q, j, z, t; L counts as two
  unsigned shorts = 0;
  char letter = '\0';
  bool is_known = true;  // not one whose arguments are numbered: n$
};

int number_at(const char*& at) {
  int value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) value = std::min(value * 10 + (*at - '0'), INT_MAX / 16);
  return value;
}

conversion read_conversion(const char*& at) {
  conversion c;
  at += std::strspn(at, "-+ #0'I");
  if (*at == '*') ++at, c.width_is_given = true;
  else number_at(at);
  if (*at == '$' || (*at >= '0' && *at <= '9')) c.is_known = false;
  if (*at == '.') {
    ++at;
    if (*at == '*') ++at, c.precision_is_given = true;
    else c.precision = number_at(at);
  }
  for (;; ++at) {
    if (*at == 'h') ++c.shorts;
    else if (*at == 'L') c.longs += 2;
    else if (*at != '\0' && std::strchr("lqjzt", *at) != nullptr) ++c.longs;
    else break;
  }
  c.letter = *at;
  if (*at != '\0') ++at;
  return c;
}

// A string of at most `most` characters; below 0: up to its end.
void reads_string(const char* text, int most, engine::place where) {
  if (text == nullptr) return;
  const std::size_t length = most < 0 ? std::strlen(text) : strnlen(text, std::size_t(most));
  const bool whole = most < 0 || length < static_cast<std::size_t>(most);
  const std::size_t bytes = length + (whole ? 1 : 0);
  if (bytes != 0) engine::access_by_call(address_of(text), bytes, engine::kind::read, where);
}
void reads_string(const wchar_t* text, int most, engine::place where) {
  if (text == nullptr || most >= 0) return;  // (a precision counts bytes of what comes out)
  engine::access_by_call(address_of(text), (std::wcslen(text) + 1) * sizeof *text,
                         engine::kind::read, where);
}

std::size_t size_of_count(const conversion& c) {  // %n
  if (c.longs != 0) return sizeof(long);
  return c.shorts == 0 ? sizeof(int) : c.shorts == 1 ? sizeof(short) : sizeof(char);
}

}  // namespace

void call_reads_parts(const iovec* parts, std::size_t count, engine::place where) {
  if (!is_list(parts, count)) return;
  call_reads(parts, count * sizeof *parts, where);
  for (std::size_t i = 0; i < count; ++i) call_reads(parts[i].iov_base, parts[i].iov_len, where);
}

void call_wrote_parts(const iovec* parts, std::size_t count, std::size_t bytes,
                      engine::place where) {
  if (!is_list(parts, count)) return;
  call_reads(parts, count * sizeof *parts, where);
  for (std::size_t i = 0; i < count && bytes != 0; ++i) {
    const std::size_t here = std::min(bytes, parts[i].iov_len);
    call_wrote(parts[i].iov_base, here, where);
    bytes -= here;
  }
}

void call_reads_format(const char* format, std::va_list list, engine::place where) {
  if (format == nullptr) return;
  const engine_scope inside;  // strlen and its like are ours, too
  engine::access_by_call(address_of(format), std::strlen(format) + 1, engine::kind::read, where);
  std::va_list left;
  va_copy(left, list);
  for (const char* at = std::strchr(format, '%'); at != nullptr; at = std::strchr(at, '%')) {
    conversion c = read_conversion(++at);
    if (!c.is_known) break;
    if (c.width_is_given) va_arg(left, int);
    if (c.precision_is_given) c.precision = va_arg(left, int);
    switch (c.letter) {
      case 's':
        if (c.longs != 0) reads_string(va_arg(left, const wchar_t*), c.precision, where);
        else reads_string(va_arg(left, const char*), c.precision, where);
        continue;
      case 'S': reads_string(va_arg(left, const wchar_t*), c.precision, where); continue;
      case 'n': {
        const void* const count = va_arg(left, const void*);
        engine::access_by_call(address_of(count), size_of_count(c), engine::kind::write, where);
        continue;
      }
      case 'd':
      case 'i':
      case 'o':
      case 'u':
      case 'x':
      case 'X':
      case 'c':
      case 'C':
        if (c.longs != 0) va_arg(left, long);
        else va_arg(left, int);
        continue;
      case 'p': va_arg(left, const void*); continue;
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (c.longs >= 2) va_arg(left, long double);
        else va_arg(left, double);
        continue;
      case 'm':
      case '%': continue;
      default: break;
    }
    break;  // unknown: what follows is, too
  }
  va_end(left);
}

}  // namespace syncopate::instrument
