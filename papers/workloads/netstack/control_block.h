// control_block.h -- a connection between threads: those of the application, which block, the one
// that receives packets, and the one of the timers.
//
// Invariants
//   I1  tcp_ is used under lock_ only. No packet is sent, and nothing else is locked, in that
//       section.
//   I2  While transmitting_ is set, one thread sends what tcp_ has for the network, in order.
//       Others leave theirs to it: it asks tcp_ once more before it clears the flag.
#pragma once

#include <memory>
#include <stdexcept>

#include "connection.h"
#include "link.h"
#include "locking.h"

namespace net {

class listener;

class socket_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class control_block : public std::enable_shared_from_this<control_block> {
 public:
  // Tells `announce_to`, unless null, when the peer has completed its call.
  control_block(link& out, const endpoint& local, const endpoint& remote,
                const tcp_settings& settings, std::uint32_t initial_sequence,
                std::shared_ptr<listener> announce_to);

  // Blocking calls. They throw socket_error when the connection has failed.
  void open();                                        // returns when the peer has answered
  std::size_t receive(std::span<std::uint8_t> data);  // returns 0 at the end of the stream
  void send(bytes data);                              // returns when the buffer has it all

  void close();  // nothing more to send
  void abort();
  void detach();  // nobody will use it any more

  void arrive(const segment& s);
  void on_link_down();
  void tick(nanoseconds now);

  // Whether nothing more has to be done by this side, but to be there (TIME_WAIT).
  [[nodiscard]] bool is_settled();
  [[nodiscard]] bool is_closed();
  [[nodiscard]] tcp_counters counters();

  const endpoint local, remote;

 private:
  struct view {
    std::size_t readable, writable;
    bool at_end;
    tcp_state state;
  };
  [[nodiscard]] view view_locked() const;
  // Runs change() under the lock, wakes those that wait for what it has changed, and sends.
  template <class Change>
  void apply(Change change);
  void notify_locked(const view& old);
  std::shared_ptr<listener> take_announcement_locked();
  void transmit();
  [[noreturn]] void fail(failure why) const;

  link& out_;
  const std::size_t mss_, low_water_;
  chosen_lock lock_;
  condition readable_, writable_, opened_;
  connection tcp_;
  std::shared_ptr<listener> announce_to_;
  bool transmitting_ = false;
};

}  // namespace net
