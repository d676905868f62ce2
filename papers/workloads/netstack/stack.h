// stack.h -- the stack: sockets over one link, with a thread that receives and one for the timers.
//
// Every lock and condition variable is locking.h's. Locks are not nested: a connection is looked up
// under the table's lock, and used under its own.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "control_block.h"

namespace net {

// An open connection; closes it when destroyed. Its calls block, and throw socket_error. One thread
// may send while another one receives.
class socket {
 public:
  explicit socket(std::shared_ptr<control_block> block) : block_(std::move(block)) {}
  socket(socket&&) noexcept = default;
  socket& operator=(socket&&) = delete;
  ~socket() {
    if (block_) block_->detach();
  }

  // Returns how many bytes it has read, 0 at the end of the stream.
  std::size_t receive(std::span<std::uint8_t> data) { return block_->receive(data); }
  // Fills `data`. Returns false when the stream ends before that.
  bool receive_all(std::span<std::uint8_t> data) {
    while (!data.empty()) {
      const std::size_t count = receive(data);
      if (count == 0) return false;
      data = data.subspan(count);
    }
    return true;
  }
  void send(bytes data) { block_->send(data); }
  // Nothing more to send; what the peer sends can still be received.
  void finish() { block_->close(); }
  void abort() { block_->abort(); }
  [[nodiscard]] endpoint peer() const { return block_->remote; }

 private:
  std::shared_ptr<control_block> block_;
};

// A port that accepts connections.
class listener {
 public:
  // Blocks for the next one. Nothing once the listener is closed.
  std::optional<socket> accept();
  void close();

 private:
  friend class control_block;
  friend class stack;
  static constexpr std::size_t backlog = 128;

  void add(std::shared_ptr<control_block> block);
  [[nodiscard]] bool has_room();

  chosen_lock lock_;
  condition arrived_;
  std::deque<std::shared_ptr<control_block>> waiting_;
  bool closed_ = false;
};

struct stack_settings {
  std::uint32_t address = 0;
  tcp_settings tcp;
  nanoseconds tick = 5 * millisecond;  // how exact the timers are
  nanoseconds linger = 10 * second;    // how long the end of the stack waits for its peers
  std::uint64_t seed = 1;              // of initial sequence numbers
};

struct stack_counters {
  tcp_counters tcp;
  std::uint64_t damaged = 0;    // packets whose checksum was wrong
  std::uint64_t misplaced = 0;  // for nobody: not TCP, another address, no such connection
};

class stack {
 public:
  // Requires: the link lives longer.
  stack(link& packets, const stack_settings& settings);
  // Closes all connections and waits for their peers, but no longer than `linger`. Requires: no
  // socket of it is left.
  ~stack();
  stack(const stack&) = delete;
  stack& operator=(const stack&) = delete;

  // Begins to receive. Who calls a port before somebody listens there is refused; so listen first.
  void start();

  // Throws socket_error when the port is taken.
  std::shared_ptr<listener> listen(std::uint16_t port);
  // Blocks until the peer has answered. Throws socket_error when it does not, or refuses.
  socket connect(const endpoint& to);

  [[nodiscard]] stack_counters counters();

 private:
  using key = std::pair<std::uint16_t, endpoint>;  // the local port, the other side
  using block_pointer = std::shared_ptr<control_block>;

  void close_listeners();
  void receive_packets();
  void arrive(const arrival& what);
  block_pointer find(const arrival& what);
  block_pointer make_block_locked(const key& at, std::shared_ptr<listener> announce_to);
  void refuse(const arrival& what);
  void keep_time();
  void forget(const block_pointer& block);
  std::vector<block_pointer> all_blocks();
  [[nodiscard]] bool is_settled();
  void count_packet(defect found);

  link& link_;
  const stack_settings settings_;

  chosen_lock table_lock_;
  std::map<key, block_pointer> blocks_;
  std::map<std::uint16_t, std::shared_ptr<listener>> listeners_;
  std::uint16_t next_port_ = 49152;
  std::uint64_t next_number_;
  stack_counters finished_;  // of packets, and of connections that are gone

  alarm_clock clock_;
  std::thread receiver_, timekeeper_;
};

}  // namespace net
