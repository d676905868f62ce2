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

// One conversion of a format of scanf: behind its '%', up to and with its letter.
struct scanned {
  bool is_kept = true;  // not one with '*'
  bool is_new = false;  // m: to memory that the call allocates
  int width = 0;        // 0: none is said
  std::size_t number = sizeof(int), real = sizeof(float);
  bool is_wide = false;
  char letter = '\0';
  bool is_known = true;  // not one whose arguments are numbered: n$
};

const char* behind_set(const char* at) {  // of characters: behind its '['
  if (*at == '^') ++at;
  if (*at == ']') ++at;
  while (*at != '\0' && *at != ']') ++at;
  return *at == '\0' ? at : at + 1;
}

scanned read_scanned(const char*& at) {
  scanned s;
  for (; *at == '*' || *at == '\'' || *at == 'I'; ++at) s.is_kept &= *at != '*';
  s.width = number_at(at);
  if (*at == '$') s.is_known = false;
  for (;; ++at) {
    if (*at == 'm') s.is_new = true;
    else if (*at == 'h') s.number = s.number == sizeof(int) ? sizeof(short) : sizeof(char);
    else if (*at != '\0' && std::strchr("lLqjzt", *at) != nullptr) {
      s.number = sizeof(long);
      s.real = *at == 'L' || s.is_wide ? sizeof(long double) : sizeof(double);
      s.is_wide = true;
    } else break;
  }
  s.letter = *at;
  if (*at != '\0') ++at;
  if (s.letter == '[') at = behind_set(at);
  return s;
}

// How many bytes stand at `to` now; 0: the letter is unknown.
std::size_t bytes_scanned(const scanned& s, const void* to) {
  if (s.letter == '\0') return 0;
  const bool is_text = std::strchr("cCsS[", s.letter) != nullptr;
  if (s.letter == 'p' || (is_text && s.is_new)) return sizeof(void*);
  if (is_text) {
    const bool is_wide = s.is_wide || s.letter == 'C' || s.letter == 'S';
    const std::size_t each = is_wide ? sizeof(wchar_t) : 1;
    if (s.letter == 'c' || s.letter == 'C') return std::size_t(std::max(s.width, 1)) * each;
    return ((is_wide ? std::wcslen(static_cast<const wchar_t*>(to))
                     : std::strlen(static_cast<const char*>(to))) +
            1) *
           each;
  }
  if (std::strchr("dinouxX", s.letter) != nullptr) return s.number;
  return std::strchr("aAeEfFgG", s.letter) != nullptr ? s.real : 0;
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

// (Whether what counts the characters at the end was reached, the result does not say: it was where
// nothing stands between.)
void call_wrote_scanned(const char* format, std::va_list list, int assigned, engine::place where) {
  if (format == nullptr || assigned <= 0) return;
  const engine_scope inside;
  std::va_list left;
  va_copy(left, list);
  const char* behind_last = nullptr;
  for (const char* at = std::strchr(format, '%'); at != nullptr; at = std::strchr(at, '%')) {
    const char* const begin = at;
    const scanned s = read_scanned(++at);
    if (!s.is_known) break;
    if (s.letter == '%' || !s.is_kept) continue;
    if (assigned == 0 && (s.letter != 'n' || begin != behind_last)) break;
    const void* const to = va_arg(left, const void*);
    const std::size_t bytes = bytes_scanned(s, to);
    if (bytes == 0) break;  // unknown: what follows is, too
    engine::access_by_call(address_of(to), bytes, engine::kind::write, where);
    if (s.letter != 'n' && --assigned == 0) behind_last = at;
  }
  va_end(left);
}

}  // namespace syncopate::instrument
