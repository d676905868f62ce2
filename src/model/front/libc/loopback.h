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

// As connect() and accept4(), without waiting in the machine's time.
int connect_socket(int file, const sockaddr* to, socklen_t bytes);
int accept_socket(int file, sockaddr* from, socklen_t* bytes, int flags);

}  // namespace syncopate::instrument
