// loopback.h -- the network of a program whose clients are in the same simulation (client.h).
//
// Nothing outside takes part in it: its TCP sockets are Unix sockets to the kernel, whose abstract
// names hold this process's number, the family and the port. So a port is free in each run, what is
// sent has come as soon as the call is over, and results are the same in every run.
//
// Such a socket is known by its priority, which means nothing for a Unix socket and is kept where
// its descriptor is duplicated: 4 for IPv4, 6 for IPv6.
#pragma once

#include <sys/socket.h>

namespace syncopate::instrument {

// Whether the file is a TCP socket, of this network or of the system's.
bool is_tcp(int file);

// Whether the program has a network of its own: from the start on, or never.
bool has_network();

// The address that a call on the file gives or wants, unless the socket is of this network: TCP
// looks at none once it is connected, a Unix socket does.
template <class Address>
Address* address_for(int file, Address* given) {
  return has_network() && is_tcp(file) ? nullptr : given;
}
class message_for {  // the same of sendmsg() and recvmsg()
 public:
  message_for(int file, msghdr* received) : message_for(file, *received) { given_ = received; }
  message_for(int file, const msghdr& sent) : without_(sent) {
    without_.msg_name = address_for(file, sent.msg_name);
    if (without_.msg_name == nullptr) without_.msg_namelen = 0;
  }
  ~message_for() {
    if (given_ == nullptr) return;
    given_->msg_namelen = without_.msg_namelen;
    given_->msg_controllen = without_.msg_controllen;
    given_->msg_flags = without_.msg_flags;
  }
  message_for(const message_for&) = delete;
  message_for& operator=(const message_for&) = delete;
  msghdr* get() { return &without_; }

 private:
  msghdr* given_ = nullptr;  // to be told of what has come
  msghdr without_;
};

// As connect() and accept4(), without waiting in the machine's time.
int connect_socket(int file, const sockaddr* to, socklen_t bytes);
int accept_socket(int file, sockaddr* from, socklen_t* bytes, int flags);

}  // namespace syncopate::instrument
