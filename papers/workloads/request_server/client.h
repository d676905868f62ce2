// client.h -- a client of request_server.cpp: sends requests one by one, and checks the answers.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "../random_numbers.h"
#include "protocol.h"

// Keys below this are of all clients: they only add to them, so that the sums do not depend on the
// order. Each client has further ones for itself, whose values it therefore knows.
inline constexpr std::uint64_t common_keys = 32, own_keys = 64;

class client {
 public:
  client(int socket, std::uint64_t number, std::uint64_t seed)
      : socket_(socket), first_own_((number + 1) << 32), random_(seed, number) {}

  // Returns whether all answers were right.
  bool run(std::uint64_t requests) {
    bool right = true;
    for (std::uint64_t i = 0; i < requests && right; ++i) right = ask_something();
    return right;
  }

  // What this client alone has added to each key.
  [[nodiscard]] const std::map<std::uint64_t, std::int64_t>& added() const { return known_; }

 private:
  std::uint64_t own_key() { return first_own_ + random_.below(own_keys); }
  std::uint64_t common_key() { return random_.below(common_keys); }
  std::int64_t amount() { return static_cast<std::int64_t>(random_.below(1000)) - 500; }

  bool ask_something() {
    const std::uint64_t dice = random_.below(100);
    if (dice < 40) return ask_own(operation::get, own_key(), 0);
    if (dice < 60) return ask_own(operation::put, own_key(), amount());
    if (dice < 70) return ask_own(operation::add, own_key(), amount());
    if (dice < 85) return add_to_common();
    if (dice < 98) return transfer();
    return move();
  }

  // Sends it and waits for its answer. Returns false when that does not come.
  bool ask(operation what, std::uint64_t key, std::uint64_t other, std::int64_t amount,
           std::int64_t& value) {
    const request r{++last_id_, what, key, other, amount};
    answer a{};
    if (!send(socket_, r) || !receive(socket_, a) || a.id != r.id) return false;
    value = a.value;
    return true;
  }

  bool ask_own(operation what, std::uint64_t key, std::int64_t amount) {
    std::int64_t value;
    if (!ask(what, key, 0, amount, value)) return false;
    std::int64_t& mine = known_[key];
    if (what == operation::add) mine += amount;
    const std::int64_t expected = mine;
    if (what == operation::put) mine = amount;
    return value == expected;
  }

  bool add_to_common() {
    const std::uint64_t key = common_key();
    const std::int64_t more = amount();
    std::int64_t unknown;
    if (!ask(operation::add, key, 0, more, unknown)) return false;
    known_[key] += more;
    return true;
  }

  bool transfer() {
    const std::uint64_t from = common_key(), to = common_key();
    const std::int64_t sum = amount();
    std::int64_t unknown;
    if (!ask(operation::transfer, from, to, sum, unknown)) return false;
    known_[from] -= sum;
    known_[to] += sum;
    return true;
  }

  bool move() {
    std::int64_t entries;
    const std::uint64_t shard = random_.below(1 << 16);
    return ask(operation::move, own_key(), shard, 0, entries) && entries >= 0;
  }

  const int socket_;
  const std::uint64_t first_own_;
  workloads::random_numbers random_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::int64_t> known_;  // own keys: the value; common ones: what it added
};
