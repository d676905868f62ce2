// retransmission.h -- when to send again, and how much at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace net {

using nanoseconds = std::uint64_t;
inline constexpr nanoseconds millisecond = 1'000'000, second = 1'000'000'000;

// The retransmission time-out.
// Source    RFC 6298. How we deviate: the lower bound is the owner's choice.
class round_trip_timer {
 public:
  explicit round_trip_timer(nanoseconds least) : least_(least) {}

  // Requires: what was measured was sent once only (Karn's rule).
  void sample(nanoseconds took) {
    if (smoothed_ == 0) {
      smoothed_ = std::max<nanoseconds>(took, 1);
      variation_ = took / 2;
    } else {
      const nanoseconds apart = took > smoothed_ ? took - smoothed_ : smoothed_ - took;
      variation_ = (3 * variation_ + apart) / 4;
      smoothed_ = std::max<nanoseconds>((7 * smoothed_ + took) / 8, 1);
    }
    time_out_ = std::clamp(smoothed_ + std::max(millisecond, 4 * variation_), least_, most);
  }
  void back_off() { time_out_ = std::min(2 * time_out_, most); }
  [[nodiscard]] nanoseconds time_out() const { return time_out_; }

 private:
  static constexpr nanoseconds most = 60 * second;

  const nanoseconds least_;
  nanoseconds smoothed_ = 0, variation_ = 0;
  nanoseconds time_out_ = 1 * second;
};

// How many bytes may be on their way: slow start, congestion avoidance, fast recovery.
// Source    RFC 5681, RFC 6582 (NewReno), RFC 6928 (the initial window).
class congestion_window {
 public:
  explicit congestion_window(std::uint32_t mss) { start(mss); }

  void start(std::uint32_t mss) {
    mss_ = mss;
    window_ = std::min(10 * mss, std::max(2 * mss, 14600u));
  }
  [[nodiscard]] std::uint32_t size() const { return window_; }
  [[nodiscard]] bool recovering() const { return recovering_; }
  // Everything below it had been sent when recovery began. Requires: recovering().
  [[nodiscard]] std::uint32_t recovery_point() const { return recovery_point_; }

  void acknowledged(std::uint32_t count) {
    if (window_ < threshold_) window_ += std::min(count, mss_);
    else window_ += std::max(1u, mss_ * mss_ / window_);
    window_ = std::min(window_, most);
  }
  void enter_recovery(std::uint32_t in_flight, std::uint32_t sent_until) {
    threshold_ = std::max(in_flight / 2, 2 * mss_);
    window_ = threshold_ + 3 * mss_;
    recovering_ = true;
    recovery_point_ = sent_until;
  }
  // A segment has left the network.
  void inflate() { window_ = std::min(window_ + mss_, most); }
  // An acknowledgment that does not reach the recovery point: the next segment is lost, too.
  void partially_acknowledged(std::uint32_t count) {
    window_ = std::max(window_ - std::min(window_, count) + mss_, mss_);
  }
  void leave_recovery() {
    recovering_ = false;
    window_ = threshold_;
  }
  void timed_out(std::uint32_t in_flight) {
    threshold_ = std::max(in_flight / 2, 2 * mss_);
    window_ = mss_;
    recovering_ = false;
  }

 private:
  static constexpr std::uint32_t most = 1 << 20;  // beyond every window that a peer can offer

  std::uint32_t mss_ = 0, window_ = 0, threshold_ = most;
  bool recovering_ = false;
  std::uint32_t recovery_point_ = 0;
};

}  // namespace net
