// connection_input.cpp -- what a connection does with a segment that arrives: RFC 9293, section
// 3.10.7, in its order.
#include <algorithm>

#include "connection.h"

namespace net {

segment refusal(const segment& of) {
  if (of.has(flag::ack)) return {.sequence = of.acknowledgment, .flags = flag::rst};
  return {.acknowledgment = of.sequence + of.length(), .flags = flag::rst | flag::ack};
}

void connection::on_segment(const segment& s, nanoseconds now) {
  ++counters_.received;
  switch (state_) {
    case tcp_state::closed: return;
    case tcp_state::listen: return on_segment_in_listen(s);
    case tcp_state::syn_sent: return on_segment_in_syn_sent(s, now);
    default: break;
  }
  if (!acceptable(s)) return on_unacceptable(s, now);
  if (s.has(flag::rst)) return on_reset(s);
  if (s.has(flag::syn)) {
    acknowledge_now_ = true;  // a challenge: a peer that has restarted answers with a reset
    return;
  }
  if (!s.has(flag::ack)) return;
  if (state_ == tcp_state::syn_received && !on_handshake_ack(s, now)) return;
  on_acknowledgment(s, now);
  const bool may_receive = state_ == tcp_state::established || state_ == tcp_state::fin_wait_1 ||
                           state_ == tcp_state::fin_wait_2;
  if (may_receive) on_payload(s, now);
}

// ---- before the connection is there ----

void connection::use_peers_options(const segment& s) {
  const std::uint16_t peers = s.mss != 0 ? s.mss : 536;  // the default of RFC 9293, 3.7.1
  mss_ = std::min(settings_.mss, peers);
  congestion_.start(mss_);
  expected_ = s.sequence + 1;
}

void connection::on_segment_in_listen(const segment& s) {
  if (s.has(flag::rst) || s.has(flag::ack) || !s.has(flag::syn)) return;
  use_peers_options(s);
  promised_until_ = expected_;
  peer_window_ = largest_peer_window_ = s.window;
  state_ = tcp_state::syn_received;
}

void connection::on_segment_in_syn_sent(const segment& s, nanoseconds now) {
  const bool answers = s.has(flag::ack) && s.acknowledgment == initial_ + 1;
  if (s.has(flag::ack) && !answers) {
    if (!s.has(flag::rst)) reset_ = refusal(s);
    return;
  }
  if (s.has(flag::rst)) {
    if (answers) end(failure::refused);
    return;
  }
  if (!s.has(flag::syn)) return;
  const std::uint32_t offered = promised_until_ - expected_;  // in our SYN
  use_peers_options(s);
  promised_until_ = expected_ + offered;
  if (!answers) {  // both have called at the same time
    state_ = tcp_state::syn_received;
    next_ = initial_;
    return;
  }
  acknowledge_now_ = on_handshake_ack(s, now);
}

bool connection::on_handshake_ack(const segment& s, nanoseconds now) {
  if (s.acknowledgment != initial_ + 1) {
    reset_ = refusal(s);
    return false;
  }
  if (measured_) round_trip_.sample(now - measured_->sent);
  measured_.reset();
  state_ = tcp_state::established;
  unacknowledged_ = next_ = sent_until_ = initial_ + 1;
  retransmit_at_ = never;
  retries_ = 0;
  peer_window_ = largest_peer_window_ = s.window;
  window_sequence_ = s.sequence;
  window_acknowledgment_ = s.acknowledgment;
  return true;
}

// ---- is it of this connection, and new? ----

bool connection::acceptable(const segment& s) const {
  const std::uint32_t open = promised_until_ - expected_, length = s.length();
  const std::uint32_t first = s.sequence - expected_;
  if (length == 0) return first < open || first == 0;
  // Its first bytes may be old ones, its last ones beyond the window: what lies within counts.
  const bool reaches_in = before(s.sequence, expected_) && after(s.sequence + length, expected_);
  return open > 0 && (first < open || reaches_in);
}

void connection::on_unacceptable(const segment& s, nanoseconds now) {
  if (s.has(flag::rst)) return;
  ++counters_.duplicates;
  acknowledge_now_ = true;
  if (state_ == tcp_state::syn_received && s.has(flag::syn)) {
    // Both have called at the same time, and this is the answer; or our answer was lost.
    if (s.has(flag::ack)) (void)on_handshake_ack(s, now);
    else next_ = initial_;
  }
  if (state_ == tcp_state::time_wait && s.has(flag::fin)) enter_time_wait(now);
  // A full window refuses the bytes of a probe, but not what it acknowledges.
  if (is_synchronized() && s.sequence == expected_ && s.has(flag::ack)) on_acknowledgment(s, now);
}

void connection::on_reset(const segment& s) {
  if (s.sequence != expected_) {
    acknowledge_now_ = true;  // a challenge: who guesses numbers cannot answer it
    return;
  }
  const bool is_over = state_ == tcp_state::time_wait || state_ == tcp_state::last_ack ||
                       state_ == tcp_state::closing;
  end(is_over ? failure::none : failure::reset);
}

// ---- what it acknowledges ----

void connection::on_acknowledgment(const segment& s, nanoseconds now) {
  const std::uint32_t limit = after(probed_until_, sent_until_) ? probed_until_ : sent_until_;
  if (after(s.acknowledgment, limit)) {
    acknowledge_now_ = true;
    return;
  }
  if (probe_at_ != never) retries_ = 0;  // the peer is there, its window is closed
  const bool repeats = s.acknowledgment == unacknowledged_ && s.length() == 0 &&
                       s.window == peer_window_ && unacknowledged_ != sent_until_;
  if (after(s.acknowledgment, unacknowledged_)) on_new_acknowledgment(s.acknowledgment, now);
  else if (repeats) on_duplicate_acknowledgment();
  update_window(s);
}

void connection::on_new_acknowledgment(std::uint32_t acknowledgment, nanoseconds now) {
  const std::uint32_t count = acknowledgment - unacknowledged_;
  if (measured_ && !before(acknowledgment, measured_->until)) {
    round_trip_.sample(now - measured_->sent);
    measured_.reset();
  }
  const bool fin_acknowledged = fin_wanted_ && acknowledgment == stream_end() + 1;
  const std::uint32_t data = acknowledgment - buffer_begin_ - (fin_acknowledged ? 1 : 0);
  outgoing_.acknowledge(data);
  buffer_begin_ += data;
  unacknowledged_ = acknowledgment;
  if (before(next_, unacknowledged_)) next_ = unacknowledged_;
  if (before(sent_until_, unacknowledged_)) sent_until_ = unacknowledged_;
  retries_ = duplicate_acknowledgments_ = 0;
  retransmit_at_ = unacknowledged_ == next_ ? never : now + round_trip_.time_out();
  if (!congestion_.recovering()) {
    congestion_.acknowledged(count);
  } else if (before(acknowledgment, congestion_.recovery_point())) {
    congestion_.partially_acknowledged(count);
    send_first_again_ = true;
  } else {
    congestion_.leave_recovery();
  }
  if (fin_acknowledged) on_own_fin_acknowledged(now);
}

void connection::on_duplicate_acknowledgment() {
  ++duplicate_acknowledgments_;
  if (congestion_.recovering()) return congestion_.inflate();
  if (duplicate_acknowledgments_ != 3) return;
  ++counters_.fast_retransmissions;
  congestion_.enter_recovery(in_flight(), sent_until_);
  send_first_again_ = true;
}

void connection::on_own_fin_acknowledged(nanoseconds now) {
  if (state_ == tcp_state::fin_wait_1) state_ = tcp_state::fin_wait_2;
  else if (state_ == tcp_state::closing) enter_time_wait(now);
  else if (state_ == tcp_state::last_ack) end(failure::none);
}

void connection::update_window(const segment& s) {
  const bool newer =
      before(window_sequence_, s.sequence) ||
      (window_sequence_ == s.sequence && !after(window_acknowledgment_, s.acknowledgment));
  if (!newer) return;
  peer_window_ = s.window;
  largest_peer_window_ = std::max(largest_peer_window_, peer_window_);
  window_sequence_ = s.sequence;
  window_acknowledgment_ = s.acknowledgment;
}

// ---- what it brings ----

void connection::on_payload(const segment& s, nanoseconds now) {
  if (s.length() == 0) return;
  const std::uint32_t end = s.sequence + static_cast<std::uint32_t>(s.payload.size());
  if (s.has(flag::fin)) peers_fin_ = end;
  const std::uint32_t old = before(s.sequence, expected_) ? expected_ - s.sequence : 0;
  const std::uint32_t ahead = s.sequence + old - expected_;
  const bytes fresh = s.payload.subspan(std::min<std::size_t>(old, s.payload.size()));
  const bool had_holes = incoming_.has_holes();
  const auto more = static_cast<std::uint32_t>(incoming_.insert(ahead, fresh));
  expected_ += more;
  if (more > 0 && detached_) return abort();
  if (ahead > 0) ++counters_.out_of_order;
  // The sender learns at once of holes and of their end; else every second segment will do.
  if (more == 0 || had_holes || ++unanswered_segments_ >= 2) acknowledge_now_ = true;
  else acknowledge_at_ = std::min(acknowledge_at_, now + settings_.acknowledgment_delay);
  if (peers_fin_ == expected_) on_peers_fin(now);
}

void connection::on_peers_fin(nanoseconds now) {
  ++expected_;
  peer_has_finished_ = true;
  acknowledge_now_ = true;
  if (state_ == tcp_state::established) state_ = tcp_state::close_wait;
  else if (state_ == tcp_state::fin_wait_1) state_ = tcp_state::closing;
  else if (state_ == tcp_state::fin_wait_2) enter_time_wait(now);
}

}  // namespace net
