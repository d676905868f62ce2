// numbers.cpp -- strtol and its kin in transactions: the number is copied to private memory, where
// the C library's function reads it.
#include "tm/libc/reader.h"

#include <syncopate/tm/libc.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <langinfo.h>

using namespace syncopate::tm;

long tm_strtol(const char* text, char** end, int base) { return std::strtol(text, end, base); }
unsigned long tm_strtoul(const char* text, char** end, int base) {
  return std::strtoul(text, end, base);
}
unsigned long long tm_strtoull(const char* text, char** end, int base) {
  return std::strtoull(text, end, base);
}
double tm_strtod(const char* text, char** end) { return std::strtod(text, end); }
int tm_atoi(const char* text) { return std::atoi(text); }

SYNCOPATE_TM_CLONE(tm_strtol, 9);
SYNCOPATE_TM_CLONE(tm_strtoul, 10);
SYNCOPATE_TM_CLONE(tm_strtoull, 11);
SYNCOPATE_TM_CLONE(tm_strtod, 9);
SYNCOPATE_TM_CLONE(tm_atoi, 7);

namespace {

// Whether the character may be part of a number in any notation, nan(...) included.
bool belongs_to_number(char c) noexcept {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  const bool digit = c >= '0' && c <= '9';
  if (c == '\0') return false;
  return letter || digit || std::strchr("+-._()", c) != nullptr ||
         std::strchr(nl_langinfo(RADIXCHAR), c) != nullptr;
}

// The characters of a string that may be a number's, without the white space before them.
class number {
 public:
  explicit number(const char* text) noexcept {
    reader r(text);
    char c = r.next();
    for (; std::isspace(static_cast<unsigned char>(c)); c = r.next()) ++skipped_;
    for (; belongs_to_number(c); c = r.next()) {
      if (size_ + 1 == capacity_ && !grow()) break;
      text_[size_++] = c;
    }
    text_[size_] = '\0';
  }
  number(const number&) = delete;
  number& operator=(const number&) = delete;
  ~number() {
    if (text_ != short_) _ITM_free(text_);
  }

  [[nodiscard]] const char* text() const noexcept { return text_; }
  // Where a conversion that stopped at `stop` in text() stopped in the string `text`.
  [[nodiscard]] const char* position(const char* text, const char* stop) const noexcept {
    return stop == text_ ? text : text + skipped_ + (stop - text_);
  }

 private:
  bool grow() noexcept {
    auto* const larger = static_cast<char*>(_ITM_malloc(2 * capacity_));
    if (larger == nullptr) return false;
    std::memcpy(larger, text_, size_);
    if (text_ != short_) _ITM_free(text_);
    text_ = larger;
    capacity_ *= 2;
    return true;
  }

  char short_[64];
  char* text_ = short_;
  std::size_t capacity_ = sizeof short_;
  std::size_t size_ = 0;
  std::size_t skipped_ = 0;
};

template <class Convert>
auto convert(const char* text, char** end, Convert read) {
  const number n(text);
  char* stop = nullptr;
  const auto value = with_errno([&] { return read(n.text(), &stop); });
  if (end != nullptr && stop != nullptr)  // a bad base leaves it alone
    _ITM_WU8(reinterpret_cast<std::uint64_t*>(end),
             reinterpret_cast<std::uint64_t>(n.position(text, stop)));
  return value;
}

}  // namespace

long clone_of_tm_strtol(const char* text, char** end, int base) {
  return convert(text, end, [=](const char* t, char** e) { return std::strtol(t, e, base); });
}
unsigned long clone_of_tm_strtoul(const char* text, char** end, int base) {
  return convert(text, end, [=](const char* t, char** e) { return std::strtoul(t, e, base); });
}
unsigned long long clone_of_tm_strtoull(const char* text, char** end, int base) {
  return convert(text, end, [=](const char* t, char** e) { return std::strtoull(t, e, base); });
}
double clone_of_tm_strtod(const char* text, char** end) {
  return convert(text, end, [](const char* t, char** e) { return std::strtod(t, e); });
}
int clone_of_tm_atoi(const char* text) {
  return convert(text, nullptr, [](const char* t, char**) { return std::atoi(t); });
}
