// receive_buffer.h -- puts a stream together whose pieces come in any order, several times, and
// overlapping.
//
// Invariants
//   I1  The window begins at the first byte that the application has not read. Its first
//       `ready_` bytes are there and in order.
//   I2  islands_ are the pieces beyond: sorted, disjoint, not touching each other nor the ready
//       bytes, and within the capacity.
#pragma once

#include <vector>

#include "byte_ring.h"

namespace net {

class receive_buffer {
 public:
  explicit receive_buffer(std::size_t capacity) : ring_(capacity) {}

  [[nodiscard]] std::size_t ready() const { return ready_; }
  // How many bytes after the ready ones it can take.
  [[nodiscard]] std::size_t room() const { return ring_.capacity() - ready_; }
  [[nodiscard]] bool has_holes() const { return !islands_.empty(); }

  // `data` begins `ahead` bytes after the ready ones; what lies beyond the room is left out.
  // Returns how many more bytes are ready now.
  std::size_t insert(std::size_t ahead, std::span<const std::uint8_t> data) {
    if (ahead >= room()) return 0;
    data = data.first(std::min(data.size(), room() - ahead));
    if (data.empty()) return 0;
    ring_.write(ready_ + ahead, data);
    merge({ready_ + ahead, ready_ + ahead + data.size()});
    if (islands_.front().begin != ready_) return 0;
    const std::size_t more = islands_.front().end - ready_;
    ready_ += more;
    islands_.erase(islands_.begin());
    return more;
  }

  // Returns how many bytes it has read: as many as are ready and as there is space for.
  std::size_t read(std::span<std::uint8_t> data) {
    const std::size_t count = std::min(data.size(), ready_);
    ring_.read(0, data.first(count));
    ring_.advance(count);
    ready_ -= count;
    for (island& each : islands_) each = {each.begin - count, each.end - count};
    return count;
  }

 private:
  struct island {
    std::size_t begin, end;  // from the window's first byte
  };

  void merge(island added) {
    auto first = islands_.begin();
    while (first != islands_.end() && first->end < added.begin) ++first;
    auto last = first;
    for (; last != islands_.end() && last->begin <= added.end; ++last) {
      added.begin = std::min(added.begin, last->begin);
      added.end = std::max(added.end, last->end);
    }
    islands_.insert(islands_.erase(first, last), added);
  }

  byte_ring ring_;
  std::size_t ready_ = 0;
  std::vector<island> islands_;
};

}  // namespace net
