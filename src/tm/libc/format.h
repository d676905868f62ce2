// format.h -- what a printf format says about its arguments.
#pragma once

#include <array>

namespace syncopate::tm {

// How an argument is passed, and whether there is more of it in memory.
enum class argument_kind : unsigned char {
  unused,
  integer,  // or a pointer that is only printed: eight bytes
  floating,
  long_floating,
  string,  // of char; or of wchar_t
  wide_string,
  count,  // %n: a pointer to an integer that is written
};

struct argument {
  argument_kind kind = argument_kind::unused;
  unsigned char width = 0;  // of the integer that %n writes, in bytes
  // Of a string: at most as many characters are read as its largest precision says, which may be
  // that of another argument (negative: none is).
  bool unlimited = false;
  int limit = 0;
  int limit_from = -1;
};

// The arguments of a format, in order. "%2$s" and the like are understood.
class format_arguments {
 public:
  static constexpr int most = 32;  // formats with more make the transaction run alone

  // Requires: `format` is private memory. Returns false where it is not understood: a conversion
  // that is not the standard's, or too many arguments.
  bool parse(const char* format) noexcept;

  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] const argument& operator[](int i) const noexcept {
    return all_[static_cast<unsigned>(i)];
  }

 private:
  bool conversion(const char*& p) noexcept;
  bool star(const char*& p, int& from) noexcept;
  argument* enter(int position, argument_kind kind) noexcept;

  std::array<argument, most> all_{};
  int count_ = 0;
  int next_ = 0;
};

}  // namespace syncopate::tm
