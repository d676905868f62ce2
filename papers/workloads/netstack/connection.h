// connection.h -- one end of a TCP connection as a state machine: segments, calls and the time go
// in, segments and deadlines come out. No threads, no locks, no clock of its own.
//
// Source    RFC 9293; RFC 6298, 5681, 6582 (retransmission.h); RFC 5961 (challenge
//           acknowledgments). How we deviate: no urgent data, no window scaling, no selective
//           acknowledgments or time stamps, no Nagle delay, TIME_WAIT as long as the owner says.
//
// Its owner calls next_segment() until that returns false, after each call of something else, and
// on_timer() when next_deadline() has come.
//
// Invariants (sequence numbers modulo 2^32)
//   I1  unacknowledged_ <= next_ <= sent_until_: acknowledged | sent, as far as is known on its way
//       | sent before a time-out, to be sent again.
//       probed_until_ may be beyond: bytes sent into a window that was closed.
//   I2  outgoing_ holds the stream from buffer_begin_ on. Where neither SYN nor FIN is
//       unacknowledged, that is unacknowledged_.
//   I3  expected_ + window() never goes back: what was promised to the peer is kept.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "packet.h"
#include "receive_buffer.h"
#include "retransmission.h"
#include "send_buffer.h"

namespace net {

enum class tcp_state : std::uint8_t {
  closed,
  listen,
  syn_sent,
  syn_received,
  established,
  fin_wait_1,
  fin_wait_2,
  close_wait,
  closing,
  last_ack,
  time_wait
};
enum class failure : std::uint8_t { none, refused, reset, timed_out };

struct tcp_settings {
  std::uint16_t mss = 1460;
  std::size_t send_bytes = 65535, receive_bytes = 65535;  // buffers
  nanoseconds least_time_out = 200 * millisecond;
  nanoseconds acknowledgment_delay = 10 * millisecond;
  nanoseconds time_wait = 60 * second;
  unsigned retries = 12, syn_retries = 6;
};

struct tcp_counters {
  std::uint64_t sent = 0, received = 0;  // segments
  std::uint64_t time_outs = 0, fast_retransmissions = 0, duplicates = 0, out_of_order = 0;
};

// The reset that answers a segment of a connection that is not there.
segment refusal(const segment& of);

class connection {
 public:
  static constexpr nanoseconds never = std::numeric_limits<nanoseconds>::max();

  // Waits for a SYN until open() is called.
  connection(const tcp_settings& settings, std::uint32_t initial_sequence);

  // What the application asks for.
  void open();
  std::size_t send(bytes data);               // returns how much it took
  std::size_t read(std::span<std::uint8_t>);  // returns how much was there
  void close();                               // nothing more to send
  void abort();                               // tells the peer with a reset
  void detach();                              // close, and nobody reads any more
  void abandon() { end(failure::reset); }     // the network is gone

  // What the network and the clock bring. `now` never goes back.
  void on_segment(const segment& s, nanoseconds now);
  void on_timer(nanoseconds now);
  [[nodiscard]] nanoseconds next_deadline() const;

  // Fills in the next segment that has to go out, its payload in `room`. Returns false when there
  // is none. Requires: room for settings.mss bytes.
  bool next_segment(nanoseconds now, segment& out, std::span<std::uint8_t> room);

  [[nodiscard]] tcp_state state() const { return state_; }
  [[nodiscard]] failure why() const { return failure_; }
  [[nodiscard]] bool is_synchronized() const { return state_ >= tcp_state::established; }
  [[nodiscard]] std::size_t readable() const { return incoming_.ready(); }
  [[nodiscard]] bool at_end() const { return peer_has_finished_ && readable() == 0; }
  [[nodiscard]] std::size_t writable() const { return may_send() ? outgoing_.room() : 0; }
  [[nodiscard]] bool may_send() const {
    return state_ == tcp_state::established || state_ == tcp_state::close_wait;
  }
  [[nodiscard]] const tcp_counters& counters() const { return counters_; }

 private:
  struct measurement {
    std::uint32_t until;  // the acknowledgment that ends it
    nanoseconds sent;
  };

  // Arrivals (connection_input.cpp), in the order of RFC 9293, section 3.10.7.
  void on_segment_in_listen(const segment& s);
  void on_segment_in_syn_sent(const segment& s, nanoseconds now);
  [[nodiscard]] bool acceptable(const segment& s) const;
  void on_reset(const segment& s);
  void on_unacceptable(const segment& s, nanoseconds now);
  bool on_handshake_ack(const segment& s, nanoseconds now);
  void on_acknowledgment(const segment& s, nanoseconds now);
  void on_new_acknowledgment(std::uint32_t acknowledgment, nanoseconds now);
  void on_duplicate_acknowledgment();
  void on_own_fin_acknowledged(nanoseconds now);
  void update_window(const segment& s);
  void on_payload(const segment& s, nanoseconds now);
  void on_peers_fin(nanoseconds now);
  void use_peers_options(const segment& s);

  // Output (connection.cpp).
  bool send_syn(nanoseconds now, segment& out);
  bool send_data(nanoseconds now, segment& out, std::span<std::uint8_t> room);
  void fill(segment& out, std::uint32_t from, std::uint32_t most, std::span<std::uint8_t> room);
  void went_out(const segment& s, nanoseconds now);
  [[nodiscard]] std::uint16_t window() const;

  void end(failure why);
  void enter_time_wait(nanoseconds now);
  void retransmission_timed_out();
  [[nodiscard]] std::uint32_t stream_end() const {
    return buffer_begin_ + static_cast<std::uint32_t>(outgoing_.size());
  }
  [[nodiscard]] std::uint32_t in_flight() const { return next_ - unacknowledged_; }

  const tcp_settings settings_;
  tcp_state state_ = tcp_state::listen;
  failure failure_ = failure::none;

  // To the peer.
  const std::uint32_t initial_;
  std::uint32_t unacknowledged_, next_, sent_until_, probed_until_;
  std::uint32_t buffer_begin_;
  send_buffer outgoing_;
  bool fin_wanted_ = false;
  std::uint32_t peer_window_ = 0, largest_peer_window_ = 0;
  std::uint32_t window_sequence_ = 0, window_acknowledgment_ = 0;  // of the last window update
  std::uint16_t mss_;
  congestion_window congestion_;
  round_trip_timer round_trip_;
  std::optional<measurement> measured_;
  unsigned duplicate_acknowledgments_ = 0, retries_ = 0;

  // From the peer.
  std::uint32_t expected_ = 0, promised_until_ = 0;
  receive_buffer incoming_;
  std::optional<std::uint32_t> peers_fin_;  // its sequence number, once seen
  bool peer_has_finished_ = false, detached_ = false;
  unsigned unanswered_segments_ = 0;

  // What next_segment() has to see to.
  bool acknowledge_now_ = false, send_first_again_ = false, probe_now_ = false;
  std::optional<segment> reset_;

  nanoseconds retransmit_at_ = never, probe_at_ = never, acknowledge_at_ = never;
  nanoseconds time_wait_ends_ = never;
  tcp_counters counters_;
};

}  // namespace net
