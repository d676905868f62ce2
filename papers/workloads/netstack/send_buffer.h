// send_buffer.h -- what the application has sent, and the peer has not acknowledged.
#pragma once

#include "byte_ring.h"

namespace net {

class send_buffer {
 public:
  explicit send_buffer(std::size_t capacity) : ring_(capacity) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t room() const { return ring_.capacity() - size_; }

  // Returns how many bytes it had room for.
  std::size_t append(std::span<const std::uint8_t> data) {
    const std::size_t count = std::min(data.size(), room());
    ring_.write(size_, data.first(count));
    size_ += count;
    return count;
  }
  // Requires: offset + data.size() <= size().
  void copy(std::size_t offset, std::span<std::uint8_t> data) const { ring_.read(offset, data); }
  // Requires: count <= size().
  void acknowledge(std::size_t count) {
    ring_.advance(count);
    size_ -= count;
  }

 private:
  byte_ring ring_;
  std::size_t size_ = 0;
};

}  // namespace net
