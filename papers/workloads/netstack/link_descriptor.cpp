// link_descriptor.cpp -- see link_descriptor.h.
#include "link_descriptor.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace net {

namespace {

constexpr std::size_t largest_packet = 65535;

int need(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

sockaddr internet_address(std::uint32_t address) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(address);
  sockaddr result;
  std::memcpy(&result, &in, sizeof result);
  return result;
}

}  // namespace

file_descriptor::~file_descriptor() {
  if (number_ >= 0) ::close(number_);
}

descriptor_link::descriptor_link(file_descriptor packets)
    : packets_(std::move(packets)), stopped_(need(::eventfd(0, EFD_CLOEXEC), "eventfd")) {
  need(::fcntl(packets_.number(), F_SETFL, O_NONBLOCK), "cannot make the link non-blocking");
}

void descriptor_link::send(packet p) {
  // No room, or nobody there: the packet is lost, as on any network.
  while (::write(packets_.number(), p.data(), p.size()) < 0 && errno == EINTR) {
  }
}

std::optional<packet> descriptor_link::receive() {
  packet result(largest_packet);
  for (;;) {
    const ssize_t got = ::read(packets_.number(), result.data(), result.size());
    if (got > 0) {
      // A packet of its own size: it may wait in a queue.
      return packet(result.begin(), result.begin() + got);
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return std::nullopt;
    pollfd ready[] = {{packets_.number(), POLLIN, 0}, {stopped_.number(), POLLIN, 0}};
    (void)::poll(ready, 2, -1);
    if (ready[1].revents != 0) return std::nullopt;
  }
}

void descriptor_link::stop() {
  const std::uint64_t one = 1;
  (void)!::write(stopped_.number(), &one, sizeof one);
}

std::pair<file_descriptor, file_descriptor> make_unix_link() {
  int ends[2];
  need(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "cannot make a socket pair");
  return {file_descriptor(ends[0]), file_descriptor(ends[1])};
}

file_descriptor make_tun(std::uint32_t kernels_address, std::uint32_t our_address) {
  file_descriptor tun(need(::open("/dev/net/tun", O_RDWR | O_CLOEXEC), "cannot open /dev/net/tun"));
  ifreq device{};
  device.ifr_flags = IFF_TUN | IFF_NO_PI;
  need(::ioctl(tun.number(), TUNSETIFF, &device), "cannot make a TUN device (are you root?)");
  const file_descriptor any(need(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"));
  device.ifr_addr = internet_address(kernels_address);
  need(::ioctl(any.number(), SIOCSIFADDR, &device), "cannot set the device's address");
  device.ifr_dstaddr = internet_address(our_address);
  need(::ioctl(any.number(), SIOCSIFDSTADDR, &device), "cannot set the device's peer");
  device.ifr_flags = IFF_UP | IFF_POINTOPOINT | IFF_NOARP;
  need(::ioctl(any.number(), SIOCSIFFLAGS, &device), "cannot bring the device up");
  return tun;
}

}  // namespace net
