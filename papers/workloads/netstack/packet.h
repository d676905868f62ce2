// packet.h -- IPv4 and TCP headers as they stand on the wire, and their checksums.
//
// Source    RFC 791, RFC 9293 section 3.1, RFC 1071 (the checksum). How we deviate: no IP options
//           are sent, those received are skipped; no fragments; of TCP's options only the maximum
//           segment size.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace net {

using packet = std::vector<std::uint8_t>;
using bytes = std::span<const std::uint8_t>;

struct endpoint {
  std::uint32_t address = 0;  // 10.0.0.1 is 0x0a000001
  std::uint16_t port = 0;
  auto operator<=>(const endpoint&) const = default;
};

struct flag {
  static constexpr std::uint8_t fin = 1, syn = 2, rst = 4, psh = 8, ack = 16;
};

// What TCP says to its peer. Numbers are in the machine's byte order.
struct segment {
  std::uint32_t sequence = 0, acknowledgment = 0;
  std::uint8_t flags = 0;
  std::uint16_t window = 0;
  std::uint16_t mss = 0;  // the option; 0: absent
  bytes payload = {};

  [[nodiscard]] bool has(std::uint8_t which) const { return (flags & which) != 0; }
  // How many sequence numbers it takes: SYN and FIN take one each.
  [[nodiscard]] std::uint32_t length() const {
    return static_cast<std::uint32_t>(payload.size()) + (has(flag::syn) ? 1 : 0) +
           (has(flag::fin) ? 1 : 0);
  }
};

// Sequence numbers are compared modulo 2^32.
constexpr bool before(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}
constexpr bool after(std::uint32_t a, std::uint32_t b) { return before(b, a); }

inline constexpr std::size_t ip_header_bytes = 20, tcp_header_bytes = 20;
inline constexpr std::size_t header_bytes = ip_header_bytes + tcp_header_bytes;
inline constexpr std::size_t mss_option_bytes = 4;

// The one's complement sum of 16-bit words, not yet inverted. `sum` continues an earlier one, whose
// bytes were even in number.
std::uint32_t add_to_checksum(bytes data, std::uint32_t sum);
std::uint16_t finish_checksum(std::uint32_t sum);

// Writes the headers of `s` in front of its payload. Requires: p starts with header_bytes of room,
// after which the payload stands already; a segment with the option has none.
void write_headers(packet& p, const endpoint& from, const endpoint& to, const segment& s);

enum class defect : std::uint8_t { none, not_tcp, malformed, ip_checksum, tcp_checksum };

struct arrival {
  endpoint from, to;
  segment what;  // its payload points into the packet
};

// Reads a packet. Unless it returns none, `result` means nothing.
defect read_packet(bytes p, arrival& result);

}  // namespace net
