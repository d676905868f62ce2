// http.h -- as much of HTTP/1.0 as netserve needs: one request a connection.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "stack.h"

namespace net::http {

inline bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// What comes before the body, with the empty line; and what of the body came with it.
struct head {
  std::string lines, rest;

  // The value of a field, whatever the case of its name.
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view lower_case_name) const {
    std::string lower = lines;
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::size_t at = lower.find("\r\n" + std::string(lower_case_name) + ":");
    if (at == std::string::npos) return std::nullopt;
    return std::strtoull(&lower[at + 3 + lower_case_name.size()], nullptr, 10);
  }
};

// Returns nothing when the stream ends before the empty line, or that does not come.
inline std::optional<head> read_head(socket& from) {
  constexpr std::size_t most = 16 << 10;
  head result;
  std::string& text = result.lines;
  while (text.size() < most) {
    std::uint8_t some[2048];
    const std::size_t count = from.receive(some);
    if (count == 0) return std::nullopt;
    text.append(reinterpret_cast<const char*>(some), count);
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    result.rest = text.substr(end + 4);
    text.resize(end + 4);
    return result;
  }
  return std::nullopt;
}

}  // namespace net::http
