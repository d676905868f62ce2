// packet.cpp -- see packet.h.
#include "packet.h"

#include <algorithm>

namespace net {

namespace {

constexpr std::uint8_t tcp_protocol = 6;
constexpr std::uint8_t option_end = 0, option_nothing = 1, option_mss = 2;

void put16(std::uint8_t* to, std::uint32_t value) {
  to[0] = static_cast<std::uint8_t>(value >> 8);
  to[1] = static_cast<std::uint8_t>(value);
}
void put32(std::uint8_t* to, std::uint32_t value) {
  put16(to, value >> 16);
  put16(to + 2, value);
}
std::uint16_t get16(const std::uint8_t* from) {
  return static_cast<std::uint16_t>(from[0] << 8 | from[1]);
}
std::uint32_t get32(const std::uint8_t* from) {
  return std::uint32_t{get16(from)} << 16 | get16(from + 2);
}

// The header that TCP's checksum covers besides its own.
std::uint32_t pseudo_header(std::uint32_t from, std::uint32_t to, std::size_t tcp_bytes) {
  return (from >> 16) + (from & 0xffff) + (to >> 16) + (to & 0xffff) + tcp_protocol +
         static_cast<std::uint32_t>(tcp_bytes);
}

void write_ip_header(packet& p, std::uint32_t from, std::uint32_t to) {
  std::fill_n(p.begin(), ip_header_bytes, std::uint8_t{0});
  p[0] = 0x45;  // version 4, five words
  put16(&p[2], static_cast<std::uint32_t>(p.size()));
  p[6] = 0x40;  // do not fragment; so the identification may stay 0 (RFC 6864)
  p[8] = 64;    // time to live
  p[9] = tcp_protocol;
  put32(&p[12], from);
  put32(&p[16], to);
  put16(&p[10], finish_checksum(add_to_checksum(bytes(p).first(ip_header_bytes), 0)));
}

// Returns false when the options do not make sense.
bool read_options(bytes options, std::uint16_t& mss) {
  for (std::size_t i = 0; i < options.size() && options[i] != option_end;) {
    if (options[i] == option_nothing) {
      ++i;
      continue;
    }
    if (i + 1 >= options.size()) return false;
    const std::size_t length = options[i + 1];
    if (length < 2 || i + length > options.size()) return false;
    if (options[i] == option_mss && length == mss_option_bytes) mss = get16(&options[i + 2]);
    i += length;
  }
  return true;
}

defect read_tcp(bytes tcp, arrival& result) {
  if (tcp.size() < tcp_header_bytes) return defect::malformed;
  const std::size_t header = std::size_t{4} * (tcp[12] >> 4);
  if (header < tcp_header_bytes || header > tcp.size()) return defect::malformed;
  const std::uint32_t pseudo = pseudo_header(result.from.address, result.to.address, tcp.size());
  if (finish_checksum(add_to_checksum(tcp, pseudo)) != 0) return defect::tcp_checksum;
  result.from.port = get16(&tcp[0]);
  result.to.port = get16(&tcp[2]);
  segment& s = result.what;
  s = segment{};
  s.sequence = get32(&tcp[4]);
  s.acknowledgment = get32(&tcp[8]);
  s.flags = tcp[13] & 0x1f;
  s.window = get16(&tcp[14]);
  s.payload = tcp.subspan(header);
  const bytes options = tcp.subspan(tcp_header_bytes, header - tcp_header_bytes);
  return read_options(options, s.mss) ? defect::none : defect::malformed;
}

}  // namespace

std::uint32_t add_to_checksum(bytes data, std::uint32_t sum) {
  std::uint64_t total = sum;
  std::size_t i = 0;
  for (; i + 1 < data.size(); i += 2) total += get16(&data[i]);
  if (i < data.size()) total += std::uint32_t{data[i]} << 8;
  while (total >> 32 != 0) total = (total & 0xffffffff) + (total >> 32);
  return static_cast<std::uint32_t>(total);
}

std::uint16_t finish_checksum(std::uint32_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

void write_headers(packet& p, const endpoint& from, const endpoint& to, const segment& s) {
  const std::size_t option = s.mss != 0 ? mss_option_bytes : 0;
  p.resize(header_bytes + option + s.payload.size());
  write_ip_header(p, from.address, to.address);
  std::uint8_t* const tcp = &p[ip_header_bytes];
  put16(tcp, from.port);
  put16(tcp + 2, to.port);
  put32(tcp + 4, s.sequence);
  put32(tcp + 8, s.acknowledgment);
  tcp[12] = static_cast<std::uint8_t>((tcp_header_bytes + option) / 4 << 4);
  tcp[13] = s.flags;
  put16(tcp + 14, s.window);
  put32(tcp + 16, 0);  // checksum, urgent pointer
  if (option != 0) {
    tcp[20] = option_mss;
    tcp[21] = mss_option_bytes;
    put16(tcp + 22, s.mss);
  }
  const bytes all = bytes(p).subspan(ip_header_bytes);
  const std::uint32_t pseudo = pseudo_header(from.address, to.address, all.size());
  put16(tcp + 16, finish_checksum(add_to_checksum(all, pseudo)));
}

defect read_packet(bytes p, arrival& result) {
  if (p.size() < ip_header_bytes || p[0] >> 4 != 4) return defect::not_tcp;
  const std::size_t header = std::size_t{4} * (p[0] & 0xf), total = get16(&p[2]);
  if (header < ip_header_bytes || total < header || total > p.size()) return defect::malformed;
  if (finish_checksum(add_to_checksum(p.first(header), 0)) != 0) return defect::ip_checksum;
  const bool fragment = (get16(&p[6]) & 0x3fff) != 0;  // more follow, or not the first
  if (p[9] != tcp_protocol || fragment) return defect::not_tcp;
  result.from.address = get32(&p[12]);
  result.to.address = get32(&p[16]);
  return read_tcp(p.subspan(header, total - header), result);
}

}  // namespace net
