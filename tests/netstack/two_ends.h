// two_ends.h -- two connections with a network between them that has a clock of its own, and loses,
// doubles, reorders and damages packets as a seed says. Deterministic: no threads, no real time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "connection.h"
#include "impairment.h"

namespace net::test {

inline std::vector<std::uint8_t> pattern(std::size_t size, std::uint64_t seed) {
  workloads::random_numbers random(seed, 7);
  std::vector<std::uint8_t> result(size);
  for (std::uint8_t& each : result) each = static_cast<std::uint8_t>(random.below(256));
  return result;
}

class two_ends {
 public:
  // a calls, b answers. Their numbers wrap around soon.
  explicit two_ends(const impairment_settings& network = {}, const tcp_settings& both = {})
      : a(both, 0xfffff000),
        b(both, 0x7fffff00),
        bad_network_{impairment(network), impairment(other(network))} {
    a.open();
  }

  // Lets time pass until done() or the limit. Returns done().
  template <class Done>
  bool run(Done done, nanoseconds limit = 600 * second) {
    const nanoseconds end = now + limit;
    for (flush(); !done();) {
      flush();
      const nanoseconds next =
          std::min({arrivals_.empty() ? connection::never : arrivals_.begin()->first,
                    a.next_deadline(), b.next_deadline(), now + application_tick});
      if (next > end) return false;
      now = std::max(now, next);
      deliver_what_is_due();
      a.on_timer(now);
      b.on_timer(now);
      flush();
    }
    return true;
  }
  bool connect() {
    return run([this] { return a.is_synchronized() && b.is_synchronized(); });
  }

  nanoseconds now = 1;
  connection a, b;
  std::uint64_t refused_by_checksum = 0;
  std::vector<segment> seen;  // all that went out; their payloads are gone

 private:
  struct in_transit {
    bool to_a;
    packet what;
  };
  static constexpr nanoseconds latency = 5 * millisecond, application_tick = 50 * millisecond;
  static constexpr endpoint at_a{0x0a000001, 40000}, at_b{0x0a000002, 80};

  static impairment_settings other(impairment_settings s) {
    s.seed += 1000;
    return s;
  }

  void flush() {
    send_all(a, false);
    send_all(b, true);
  }
  void send_all(connection& from, bool to_a) {
    std::uint8_t room[1460];
    segment s;
    while (from.next_segment(now, s, room)) {
      packet p(header_bytes + s.payload.size());
      std::copy(s.payload.begin(), s.payload.end(), p.begin() + header_bytes);
      write_headers(p, to_a ? at_b : at_a, to_a ? at_a : at_b, s);
      seen.push_back(s);
      bad_network_[to_a].pass(std::move(p), [&](packet out) {
        arrivals_.emplace(now + latency, in_transit{to_a, std::move(out)});
      });
    }
  }
  void deliver_what_is_due() {
    while (!arrivals_.empty() && arrivals_.begin()->first <= now) {
      const in_transit next = std::move(arrivals_.begin()->second);
      arrivals_.erase(arrivals_.begin());
      arrival found;
      if (read_packet(next.what, found) != defect::none) ++refused_by_checksum;
      else (next.to_a ? a : b).on_segment(found.what, now);
      flush();
    }
  }

  std::multimap<nanoseconds, in_transit> arrivals_;
  impairment bad_network_[2];
};

// One direction of a conversation: sends all of `data`, then closes; reads and compares.
class transfer {
 public:
  transfer(connection& from, connection& to, std::vector<std::uint8_t> data)
      : from_(from), to_(to), data_(std::move(data)) {}

  // Sends and reads what it can. Returns whether the end has come, and all was as it was sent.
  // read_at_most limits how fast the reader is.
  bool step(std::size_t read_at_most = 1 << 20) {
    if (sent_ < data_.size()) sent_ += from_.send(bytes(data_).subspan(sent_));
    if (sent_ == data_.size()) from_.close();
    std::vector<std::uint8_t> got(std::min(read_at_most, to_.readable()));
    to_.read(got);
    received_.insert(received_.end(), got.begin(), got.end());
    return to_.at_end();
  }
  [[nodiscard]] bool is_exact() const { return received_ == data_; }
  [[nodiscard]] std::size_t received() const { return received_.size(); }

 private:
  connection &from_, &to_;
  const std::vector<std::uint8_t> data_;
  std::size_t sent_ = 0;
  std::vector<std::uint8_t> received_;
};

}  // namespace net::test
