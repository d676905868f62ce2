// connection.cpp -- what a connection's owner calls, its timers, and what it sends. Arrivals:
// connection_input.cpp.
#include "connection.h"

#include <algorithm>

namespace net {

connection::connection(const tcp_settings& settings, std::uint32_t initial_sequence)
    : settings_(settings),
      initial_(initial_sequence),
      unacknowledged_(initial_sequence),
      next_(initial_sequence),
      sent_until_(initial_sequence),
      probed_until_(initial_sequence),
      buffer_begin_(initial_sequence + 1),
      outgoing_(settings.send_bytes),
      mss_(settings.mss),
      congestion_(settings.mss),
      round_trip_(settings.least_time_out),
      incoming_(settings.receive_bytes) {}

// ---- the application ----

void connection::open() { state_ = tcp_state::syn_sent; }

std::size_t connection::send(bytes data) {
  return may_send() && !fin_wanted_ ? outgoing_.append(data) : 0;
}

std::size_t connection::read(std::span<std::uint8_t> data) {
  const std::size_t count = incoming_.read(data);
  // The peer is told when that is worth a segment.
  const std::uint32_t opened = expected_ + window() - promised_until_;
  const auto half = static_cast<std::uint32_t>(settings_.receive_bytes / 2);
  if (count > 0 && !peer_has_finished_ && opened >= std::min<std::uint32_t>(2 * mss_, half))
    acknowledge_now_ = is_synchronized();
  return count;
}

void connection::close() {
  if (fin_wanted_) return;
  if (!is_synchronized()) return abort();
  fin_wanted_ = true;
  if (state_ == tcp_state::established) state_ = tcp_state::fin_wait_1;
  if (state_ == tcp_state::close_wait) state_ = tcp_state::last_ack;
}

void connection::abort() {
  const bool peer_knows = state_ == tcp_state::syn_received || is_synchronized();
  if (peer_knows && state_ != tcp_state::time_wait)
    reset_ = segment{
        .sequence = sent_until_, .acknowledgment = expected_, .flags = flag::rst | flag::ack};
  end(failure::none);
}

void connection::detach() {
  detached_ = true;
  // Data that nobody will read: the peer should know.
  if (readable() > 0) abort();
  else close();
}

void connection::end(failure why) {
  state_ = tcp_state::closed;
  failure_ = why;
  retransmit_at_ = probe_at_ = acknowledge_at_ = time_wait_ends_ = never;
}

void connection::enter_time_wait(nanoseconds now) {
  state_ = tcp_state::time_wait;
  retransmit_at_ = probe_at_ = never;
  time_wait_ends_ = now + settings_.time_wait;
}

// ---- the clock ----

nanoseconds connection::next_deadline() const {
  return std::min({retransmit_at_, probe_at_, acknowledge_at_, time_wait_ends_});
}

void connection::on_timer(nanoseconds now) {
  if (now >= time_wait_ends_) end(failure::none);
  if (now >= acknowledge_at_) {
    acknowledge_at_ = never;
    acknowledge_now_ = true;
  }
  if (now < retransmit_at_ && now < probe_at_) return;
  const unsigned most = is_synchronized() ? settings_.retries : settings_.syn_retries;
  if (++retries_ > most) return end(failure::timed_out);
  round_trip_.back_off();
  if (now >= retransmit_at_) return retransmission_timed_out();
  probe_at_ = never;
  probe_now_ = true;
}

void connection::retransmission_timed_out() {
  ++counters_.time_outs;
  retransmit_at_ = never;
  congestion_.timed_out(in_flight());
  next_ = unacknowledged_;
  duplicate_acknowledgments_ = 0;
  measured_.reset();
}

// ---- what goes out ----

bool connection::next_segment(nanoseconds now, segment& out, std::span<std::uint8_t> room) {
  out = segment{};
  if (reset_) {
    out = *reset_;
    reset_.reset();
    ++counters_.sent;
    return true;
  }
  if (state_ == tcp_state::closed || state_ == tcp_state::listen) return false;
  const bool sends = is_synchronized() ? send_data(now, out, room) : send_syn(now, out);
  if (!sends) return false;
  if (out.has(flag::ack)) out.acknowledgment = expected_;
  out.window = window();
  went_out(out, now);
  return true;
}

bool connection::send_syn(nanoseconds now, segment& out) {
  if (next_ != initial_) return false;
  out.flags = flag::syn;
  if (state_ == tcp_state::syn_received) out.flags |= flag::ack;
  out.sequence = initial_;
  out.mss = settings_.mss;
  retransmit_at_ = now + round_trip_.time_out();
  next_ = initial_ + 1;
  return true;
}

bool connection::send_data(nanoseconds now, segment& out, std::span<std::uint8_t> room) {
  out.flags = flag::ack;
  if (send_first_again_) {
    send_first_again_ = false;
    measured_.reset();
    fill(out, unacknowledged_, mss_, room);
    if (out.length() > 0) return true;
  }
  const std::uint32_t allowed = std::min(congestion_.size(), peer_window_);
  const std::uint32_t usable = allowed > in_flight() ? allowed - in_flight() : 0;
  const bool fin_is_out = next_ == stream_end() + 1;
  const std::uint32_t unsent = fin_is_out ? 0 : stream_end() - next_;
  const std::uint32_t length = std::min<std::uint32_t>({mss_, usable, unsent});
  // A small segment has to be the last one, or half of what the peer ever took.
  const bool worth = length == mss_ || length == unsent || 2 * length >= largest_peer_window_;
  const bool fin = fin_wanted_ && !fin_is_out && length == unsent;
  const bool probe = probe_now_ && unsent > 0;
  probe_now_ = false;
  if ((length > 0 && worth) || fin || probe) {
    fill(out, next_, probe ? std::max(length, 1u) : length, room);
    // A byte beyond the window is not counted as on its way: it may well be refused.
    if (probe && length == 0) return true;
    next_ += out.length();
    retransmit_at_ = std::min(retransmit_at_, now + round_trip_.time_out());
    return true;
  }
  // What is already on its way comes before: a peer would refuse the numbers of that.
  out.sequence = sent_until_;
  if (unsent > 0 && in_flight() == 0 && probe_at_ == never)
    probe_at_ = now + round_trip_.time_out();
  return acknowledge_now_;
}

// Up to `most` bytes of the stream from there on, and the FIN where that follows.
void connection::fill(segment& out, std::uint32_t from, std::uint32_t most,
                      std::span<std::uint8_t> room) {
  const bool at_fin = from == stream_end() + 1;
  const std::uint32_t length =
      at_fin ? 0 : std::min<std::uint32_t>({mss_, most, stream_end() - from});
  out.sequence = from;
  outgoing_.copy(from - buffer_begin_ - (at_fin ? 1 : 0), room.first(length));
  out.payload = room.first(length);
  if (at_fin || from + length != stream_end()) return;
  if (length > 0) out.flags |= flag::psh;
  if (fin_wanted_) out.flags |= flag::fin;
}

void connection::went_out(const segment& s, nanoseconds now) {
  ++counters_.sent;
  const std::uint32_t until = s.sequence + s.length();
  if (s.length() > 0) probe_at_ = never;
  promised_until_ = expected_ + s.window;
  if (before(s.sequence, sent_until_)) {
    if (s.length() > 0) measured_.reset();  // it may be the second copy that is acknowledged
  } else if (s.length() > 0 && !measured_) {
    measured_ = measurement{until, now};
  }
  std::uint32_t& furthest = after(until, next_) ? probed_until_ : sent_until_;
  if (after(until, furthest)) furthest = until;
  if (state_ == tcp_state::syn_sent) return;
  acknowledge_now_ = false;
  acknowledge_at_ = never;
  unanswered_segments_ = 0;
}

std::uint16_t connection::window() const {
  const std::uint32_t promised = promised_until_ - expected_;
  const auto room = static_cast<std::uint32_t>(std::min<std::size_t>(incoming_.room(), 65535));
  const std::uint32_t step =
      std::min<std::uint32_t>(mss_, static_cast<std::uint32_t>(settings_.receive_bytes / 2));
  return static_cast<std::uint16_t>(room < promised + step ? promised : room);
}

}  // namespace net
