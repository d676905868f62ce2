// link_memory.h -- a link between two stacks of one process: a queue in memory each way.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "link.h"
#include "locking.h"

namespace net {

// What does not fit is lost.
class packet_queue {
 public:
  explicit packet_queue(std::size_t capacity) : packets_(capacity) {}

  void push(packet p) {
    const section hold(lock_);
    if (count_ == packets_.size()) return;
    packets_[(first_ + count_) % packets_.size()] = std::move(p);
    if (count_++ == 0) arrived_.notify_all();
  }
  std::optional<packet> pop() {
    const section hold(lock_);
    arrived_.wait(lock_, [this] { return count_ > 0 || stopped_; });
    if (stopped_) return std::nullopt;
    packet result = std::move(packets_[first_]);
    first_ = (first_ + 1) % packets_.size();
    --count_;
    return result;
  }
  void stop() {
    const section hold(lock_);
    stopped_ = true;
    arrived_.notify_all();
  }

 private:
  chosen_lock lock_;
  condition arrived_;
  std::vector<packet> packets_;
  std::size_t first_ = 0, count_ = 0;
  bool stopped_ = false;
};

// Owns the queues of both ends.
class memory_wire {
 public:
  explicit memory_wire(std::size_t capacity)
      : queues_{packet_queue(capacity), packet_queue(capacity)},
        ends_{end(*this, 0), end(*this, 1)} {}
  link& first() { return ends_[0]; }
  link& second() { return ends_[1]; }

 private:
  class end final : public link {
   public:
    end(memory_wire& wire, std::size_t number) : wire_(wire), number_(number) {}
    void send(packet p) override { wire_.queues_[1 - number_].push(std::move(p)); }
    std::optional<packet> receive() override { return wire_.queues_[number_].pop(); }
    void stop() override { wire_.queues_[number_].stop(); }

   private:
    memory_wire& wire_;
    const std::size_t number_;
  };

  packet_queue queues_[2];  // of what the end with that number receives
  end ends_[2];
};

}  // namespace net
