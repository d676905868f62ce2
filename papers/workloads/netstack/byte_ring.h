// byte_ring.h -- a window on a stream of bytes: what lies in it is found by its distance from the
// first one.
//
// Invariant: byte i of the window is storage_[(first_ + i) % storage_.size()].
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace net {

class byte_ring {
 public:
  explicit byte_ring(std::size_t capacity) : storage_(capacity) {}

  [[nodiscard]] std::size_t capacity() const { return storage_.size(); }

  // Requires, for all three: offset + number of bytes <= capacity().
  void write(std::size_t offset, std::span<const std::uint8_t> data) {
    const std::size_t at = place(offset), until_end = std::min(data.size(), capacity() - at);
    if (data.empty()) return;
    std::memcpy(&storage_[at], data.data(), until_end);
    std::memcpy(storage_.data(), data.data() + until_end, data.size() - until_end);
  }
  void read(std::size_t offset, std::span<std::uint8_t> data) const {
    const std::size_t at = place(offset), until_end = std::min(data.size(), capacity() - at);
    if (data.empty()) return;
    std::memcpy(data.data(), &storage_[at], until_end);
    std::memcpy(data.data() + until_end, storage_.data(), data.size() - until_end);
  }
  // The window begins `count` bytes later.
  void advance(std::size_t count) { first_ = place(count); }

 private:
  [[nodiscard]] std::size_t place(std::size_t offset) const {
    return (first_ + offset) % storage_.size();
  }

  std::vector<std::uint8_t> storage_;
  std::size_t first_ = 0;
};

}  // namespace net
