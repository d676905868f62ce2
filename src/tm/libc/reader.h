// reader.h -- reads the characters of a string by the transaction, one after the other.
#pragma once

#include "tm/libc/clone.h"

namespace syncopate::tm {

// Loads aligned words: one access for eight characters, and never one across a page's end. Strings
// near the stack's end are read by bytes: the compiler keeps variables there that it changes
// without telling the transaction, and a word may hold one beside the string.
class reader {
 public:
  explicit reader(const char* text) noexcept
      : at_(reinterpret_cast<std::uintptr_t>(text)),
        by_words_(at_ - reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) > near) {}

  char next() noexcept {
    const std::uintptr_t at = at_++;
    if (!by_words_) return static_cast<char>(_ITM_RU1(reinterpret_cast<const std::uint8_t*>(at)));
    if (const std::uintptr_t start = at & ~std::uintptr_t{7}; start != loaded_) {
      word_ = _ITM_RU8(reinterpret_cast<const std::uint64_t*>(start));
      loaded_ = start;
    }
    return static_cast<char>(word_ >> (8 * (at & 7)));
  }

 private:
  static constexpr std::uintptr_t near = 1 << 20;

  std::uintptr_t at_;
  std::uintptr_t loaded_ = 0;
  std::uint64_t word_ = 0;
  bool by_words_;
};

// As strnlen().
inline std::size_t length(const char* text, std::size_t limit) noexcept {
  reader r(text);
  for (std::size_t i = 0; i < limit; ++i)
    if (r.next() == '\0') return i;
  return limit;
}

}  // namespace syncopate::tm
