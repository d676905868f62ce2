// fences.h -- inline assembly that compilers' plugins know: what orders all memory accesses of its
// thread, as programs for x86 write it by hand, and what does nothing to memory at all.
#pragma once

#include <string>

namespace syncopate::fences {

enum class meaning { other, fence, nothing };

// The template without what differs between compilers and between hands.
inline std::string letters_of(const char* text) {
  std::string result;
  for (; *text != '\0'; ++text)
    if (std::string(" \t\n;%$").find(*text) == std::string::npos) result += *text;
  return result;
}

// A locked addition of nothing to the top of the stack, as Linux and compilers have it.
inline bool is_locked_nothing(const std::string& letters) {
  for (const char* const begin : {"lockadd", "lockor"}) {
    if (letters.rfind(begin, 0) != 0) continue;
    std::string rest = letters.substr(std::string(begin).size());
    if (!rest.empty() && std::string("bwlq").find(rest[0]) != std::string::npos) rest.erase(0, 1);
    const std::size_t bracket = rest.find('(');
    if (bracket == std::string::npos) return false;
    const std::string before = rest.substr(0, bracket), behind = rest.substr(bracket);
    if (behind != "(rsp)" && behind != "(esp)") return false;
    const std::size_t comma = before.find(',');
    if (comma == std::string::npos) return false;
    const std::string added = before.substr(0, comma);
    return (added == "0" || added == "0x0") &&
           before.find_first_not_of("-0123456789abcdefx", comma + 1) == std::string::npos;
  }
  return false;
}

inline meaning meaning_of(const char* text) {
  const std::string letters = letters_of(text);
  if (letters == "mfence" || is_locked_nothing(letters)) return meaning::fence;
  for (const char* const pause : {"", "pause", "nop", "repnop"})
    if (letters == pause) return meaning::nothing;
  return meaning::other;
}

}  // namespace syncopate::fences
