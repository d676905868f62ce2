// link_descriptor.h -- a link over a file descriptor of the kernel's that keeps packets apart: a
// socket pair between two processes, or a TUN device.
#pragma once

#include <string>
#include <utility>

#include "link.h"

namespace net {

class file_descriptor {
 public:
  explicit file_descriptor(int number) : number_(number) {}
  file_descriptor(file_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  file_descriptor(const file_descriptor&) = delete;
  file_descriptor& operator=(const file_descriptor&) = delete;
  ~file_descriptor();
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

class descriptor_link final : public link {
 public:
  // Throws std::system_error.
  explicit descriptor_link(file_descriptor packets);
  void send(packet p) override;
  std::optional<packet> receive() override;
  void stop() override;

 private:
  file_descriptor packets_, stopped_;
};

// Both ends of a link between two processes. Throws std::system_error.
std::pair<file_descriptor, file_descriptor> make_unix_link();

// Makes a network device that goes with the descriptor. The kernel has `kernels_address` on it and
// reaches `our_address` through it. Throws std::system_error, which says what is missing.
file_descriptor make_tun(std::uint32_t kernels_address, std::uint32_t our_address);

}  // namespace net
