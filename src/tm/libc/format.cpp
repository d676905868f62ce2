#include "tm/libc/format.h"

#include <cstring>

namespace syncopate::tm {
namespace {

constexpr int next_one = -1;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_one_of(char c, const char* these) noexcept {
  return c != '\0' && std::strchr(these, c) != nullptr;
}

int number(const char*& p) noexcept {
  int value = 0;
  for (; is_digit(*p); ++p)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, *p - '0', &value))
      value = 1 << 30;
  return value;
}

// "12$", counted from one; returns it counted from zero, or next_one.
int position(const char*& p) noexcept {
  const char* q = p;
  const int value = number(q);
  if (q == p || *q != '$') return next_one;
  p = q + 1;
  return value - 1;
}

struct length_modifier {
  unsigned char width = sizeof(int);
  bool is_long = false, is_long_double = false;
};

length_modifier length(const char*& p) noexcept {
  length_modifier m;
  for (; is_one_of(*p, "hlLqjzZt"); ++p) {
    if (*p == 'h') m.width = static_cast<unsigned char>(m.width / 2);
    else m.width = sizeof(long);
    m.is_long = m.is_long || *p == 'l';
    m.is_long_double = m.is_long_double || *p == 'L' || *p == 'q';
  }
  return m;
}

argument_kind kind_of(char conversion, const length_modifier& m) noexcept {
  if (is_one_of(conversion, "diouxXcCp")) return argument_kind::integer;
  if (is_one_of(conversion, "aAeEfFgG"))
    return m.is_long_double ? argument_kind::long_floating : argument_kind::floating;
  if (conversion == 'S' || (conversion == 's' && m.is_long)) return argument_kind::wide_string;
  if (conversion == 's') return argument_kind::string;
  return conversion == 'n' ? argument_kind::count : argument_kind::unused;
}

}  // namespace

argument* format_arguments::enter(int position, argument_kind kind) noexcept {
  const int at = position == next_one ? next_++ : position;
  if (at < 0 || at >= most) return nullptr;
  if (at >= count_) count_ = at + 1;
  argument* const a = &all_[static_cast<unsigned>(at)];
  a->kind = kind;
  return a;
}

bool format_arguments::star(const char*& p, int& from) noexcept {
  ++p;
  const argument* const a = enter(position(p), argument_kind::integer);
  if (a != nullptr) from = static_cast<int>(a - all_.data());
  return a != nullptr;
}

// Requires: p is behind the '%'. Leaves it behind the conversion.
bool format_arguments::conversion(const char*& p) noexcept {
  const int which = position(p);
  while (is_one_of(*p, "-+ #0'I")) ++p;
  int limit = 0, limit_from = -1, width_from = -1;
  bool limited = false;
  if (*p == '*' && !star(p, width_from)) return false;
  number(p);
  if (*p == '.') {
    ++p;
    limited = *p != '-';  // a negative one is none
    if (*p == '*' && !star(p, limit_from)) return false;
    if (*p == '-') ++p;
    if (limit_from < 0) limit = number(p);
  }
  const length_modifier m = length(p);
  const char c = *p;
  if (c == '\0') return false;
  ++p;
  if (c == '%' || c == 'm') return true;
  const argument_kind kind = kind_of(c, m);
  if (kind == argument_kind::unused) return false;
  argument* const a = enter(which, kind);
  if (a == nullptr) return false;
  a->width = m.width;
  a->unlimited = a->unlimited || !limited;
  if (limited && limit > a->limit) a->limit = limit;
  if (limit_from < 0 || limit_from == a->limit_from) return true;
  const bool first = a->limit_from < 0;
  a->limit_from = limit_from;
  return first;
}

bool format_arguments::parse(const char* format) noexcept {
  for (const char* p = format; *p != '\0';)
    if (*p++ == '%' && !conversion(p)) return false;
  for (int i = 0; i < count_; ++i)  // "%2$d" alone does not say what the first one is
    if (all_[static_cast<unsigned>(i)].kind == argument_kind::unused) return false;
  return true;
}

}  // namespace syncopate::tm
