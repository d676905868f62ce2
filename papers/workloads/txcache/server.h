// server.h -- connections: one thread accepts them and keeps the time, the others serve them.
#pragma once

#include <string>

#include "cache.h"

namespace workloads::txcache {

struct server_options {
  unsigned threads = 4;
  std::string address = "127.0.0.1";
  unsigned port = 11211;    // 0: any free one
  std::string socket_path;  // instead of address and port, where it is not empty
  std::size_t largest_value = 0;
};

// Serves until SIGINT or SIGTERM, and then closes all connections. Requires: the cache has been
// started, and those two signals are blocked in every thread. Prints one line when it is ready.
// Returns an empty text, or one line for the user.
std::string serve(const server_options& options);

}  // namespace workloads::txcache
