// protocol.h -- what clients and the server of request_server.cpp say to each other, and how it
// gets through a socket. Both run on the same machine: numbers go as they lie in memory.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <sys/socket.h>

enum class operation : std::uint64_t {
  get,       // the value of `key`
  put,       // sets it; answers with the old one
  add,       // adds `amount` to it; answers with the new one
  transfer,  // takes `amount` from `key`, adds it to `other`; answers with key's new value
  move,      // moves the bucket of `key` to shard `other`; answers with how many entries it had
};
inline constexpr std::size_t operations = 5;

struct request {
  std::uint64_t id;
  operation what;
  std::uint64_t key, other;
  std::int64_t amount;
};

struct answer {
  std::uint64_t id;
  std::int64_t value;
};

// Returns false when the other side has hung up.
template <class Message>
bool receive(int from, Message& message) {
  ssize_t got;
  do {
    got = ::recv(from, &message, sizeof message, MSG_WAITALL);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof message);
}

template <class Message>
bool send(int to, const Message& message) {
  ssize_t sent;
  do {
    sent = ::send(to, &message, sizeof message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof message);
}
