// control_block.cpp -- see control_block.h.
#include "control_block.h"

#include "stack.h"

namespace net {

control_block::control_block(link& out, const endpoint& from, const endpoint& to,
                             const tcp_settings& settings, std::uint32_t initial_sequence,
                             std::shared_ptr<listener> announce_to)
    : local(from),
      remote(to),
      out_(out),
      mss_(settings.mss),
      low_water_(settings.send_bytes / 4),
      tcp_(settings, initial_sequence),
      announce_to_(std::move(announce_to)) {}

control_block::view control_block::view_locked() const {
  return {tcp_.readable(), tcp_.writable(), tcp_.at_end(), tcp_.state()};
}

template <class Change>
void control_block::apply(Change change) {
  std::shared_ptr<listener> announce_to;
  {
    const section hold(lock_);
    const view old = view_locked();
    change();
    notify_locked(old);
    announce_to = take_announcement_locked();
  }
  transmit();
  if (announce_to) announce_to->add(shared_from_this());
}

void control_block::notify_locked(const view& old) {
  const view now = view_locked();
  const bool other_state = now.state != old.state;
  if (now.readable > old.readable || now.at_end != old.at_end || other_state)
    readable_.notify_all();
  // Senders wait for room for several segments.
  if ((old.writable < low_water_ && now.writable >= low_water_) || other_state)
    writable_.notify_all();
  if (other_state) opened_.notify_all();
}

std::shared_ptr<listener> control_block::take_announcement_locked() {
  return tcp_.is_synchronized() ? std::move(announce_to_) : nullptr;
}

void control_block::transmit() {
  for (bool first = true;; first = false) {
    packet p(header_bytes + mss_);
    segment s;
    {
      const section hold(lock_);
      if (first && transmitting_) return;  // I2
      const nanoseconds now = syncopate::machine::now();
      transmitting_ = tcp_.next_segment(now, s, std::span(p).subspan(header_bytes));
      if (!transmitting_) return;
    }
    write_headers(p, local, remote, s);
    out_.send(std::move(p));
  }
}

void control_block::fail(failure why) const {
  switch (why) {
    case failure::refused: throw socket_error("the peer refuses the connection");
    case failure::reset: throw socket_error("the peer has reset the connection");
    case failure::timed_out: throw socket_error("the peer does not answer");
    case failure::none: throw socket_error("the connection is closed");
  }
  throw socket_error("the connection has failed");
}

// ---- the application ----

void control_block::open() {
  apply([this] { tcp_.open(); });
  failure why;
  {
    const section hold(lock_);
    opened_.wait(lock_,
                 [this] { return tcp_.is_synchronized() || tcp_.state() == tcp_state::closed; });
    if (tcp_.is_synchronized()) return;
    why = tcp_.why();
  }
  fail(why);
}

std::size_t control_block::receive(std::span<std::uint8_t> data) {
  std::size_t count = 0;
  bool ended = false;
  failure why = failure::none;
  {
    const section hold(lock_);
    readable_.wait(lock_, [this] {
      return tcp_.readable() > 0 || tcp_.at_end() || tcp_.state() == tcp_state::closed;
    });
    count = tcp_.read(data);
    ended = tcp_.at_end();
    why = tcp_.why();
  }
  if (count == 0 && !ended) fail(why);
  transmit();  // a window that has opened
  return count;
}

void control_block::send(bytes data) {
  while (!data.empty()) {
    const std::size_t enough = std::min(data.size(), std::max<std::size_t>(low_water_, 1));
    failure why;
    std::size_t taken;
    {
      const section hold(lock_);
      writable_.wait(lock_, [&] { return tcp_.writable() >= enough || !tcp_.may_send(); });
      taken = tcp_.send(data);
      why = tcp_.why();
    }
    if (taken == 0) fail(why);
    data = data.subspan(taken);
    transmit();
  }
}

void control_block::close() {
  apply([this] { tcp_.close(); });
}
void control_block::abort() {
  apply([this] { tcp_.abort(); });
}
void control_block::detach() {
  apply([this] { tcp_.detach(); });
}

// ---- the network and the clock ----

void control_block::arrive(const segment& s) {
  apply([&] { tcp_.on_segment(s, syncopate::machine::now()); });
}

void control_block::on_link_down() {
  apply([this] { tcp_.abandon(); });
}

void control_block::tick(nanoseconds now) {
  {
    const section hold(lock_);
    if (tcp_.next_deadline() > now) return;
  }
  apply([&] { tcp_.on_timer(now); });
}

bool control_block::is_settled() {
  const section hold(lock_);
  return tcp_.state() == tcp_state::closed || tcp_.state() == tcp_state::time_wait;
}
bool control_block::is_closed() {
  const section hold(lock_);
  return tcp_.state() == tcp_state::closed && !transmitting_;
}
tcp_counters control_block::counters() {
  const section hold(lock_);
  return tcp_.counters();
}

}  // namespace net
