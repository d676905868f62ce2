// request_server.cpp -- a server of keys and values, with its clients, in one process.
//
// Ordinary threads, mutexes, condition variables and a readers/writer lock, without any knowledge
// of elision: it shows what elision does to such a program. Clients connect through sockets; a
// thread reads their requests into a bounded queue; workers answer them out of a table in shards,
// each under its own mutex, whose routing a readers/writer lock guards. Each client checks its
// answers; at the end the table has to hold what the clients have put there. Its checksum depends
// on the options alone, not on the order in which threads come.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../presets.h"
#include "client.h"
#include "server.h"

namespace {

struct address {
  sockaddr_storage bytes{};
  socklen_t length = sizeof bytes;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
};

// A socket that listens where the system likes, and where that is. Returns -1 when it cannot.
int listen_somewhere(bool tcp, address& where) {
  const int family = tcp ? AF_INET : AF_UNIX;
  const int listener = ::socket(family, SOCK_STREAM, 0);
  where.bytes.ss_family = static_cast<sa_family_t>(family);
  socklen_t given = sizeof where.bytes.ss_family;  // of a Unix socket: the system finds a name
  if (tcp) {
    reinterpret_cast<sockaddr_in&>(where.bytes).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    given = sizeof(sockaddr_in);
  }
  const bool listens = listener >= 0 && ::bind(listener, where.get(), given) == 0 &&
                       ::listen(listener, SOMAXCONN) == 0 &&
                       ::getsockname(listener, where.get(), &where.length) == 0;
  return listens ? listener : -1;
}

int connect_to(address where) {
  const int socket = ::socket(where.bytes.ss_family, SOCK_STREAM, 0);
  return socket >= 0 && ::connect(socket, where.get(), where.length) == 0 ? socket : -1;
}

struct client_result {
  bool right = false;
  std::map<std::uint64_t, std::int64_t> added;
};

client_result run_client(address where, std::uint64_t number, std::uint64_t requests,
                         std::uint64_t seed) {
  const int socket = connect_to(where);
  if (socket < 0) return {};
  client c(socket, number, seed);
  const bool right = c.run(requests);
  ::close(socket);
  return {right, c.added()};
}

// The same for the same entries, whatever their order.
std::uint64_t checksum(const std::map<std::uint64_t, std::int64_t>& values) {
  std::uint64_t sum = 0;
  for (const auto& [key, value] : values) {
    std::uint64_t mixed = key * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(value);
    mixed ^= mixed >> 31;
    sum += mixed * 0xbf58476d1ce4e5b9u;
  }
  return sum;
}

volatile std::sig_atomic_t ticks = 0;

// A timer whose signals come to any thread, as servers have them.
void tick_every(std::uint64_t microseconds) {
  struct sigaction action {};
  action.sa_handler = [](int) { ticks = ticks + 1; };
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  const timeval period{static_cast<time_t>(microseconds / 1'000'000),
                       static_cast<suseconds_t>(microseconds % 1'000'000)};
  const itimerval timer{period, period};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const workloads::sized counts{"requests", "of each client", {500, 5000, 50'000, 500'000}};
  const workloads::options o(argc, argv,
                             "A server of keys and values, and clients that check its answers.",
                             {{"clients", "4", "threads that send requests"},
                              {"workers", "2", "threads that answer them"},
                              workloads::tiny_preset_option(),
                              counts.as_option(),
                              {"shards", "4", "of the table"},
                              {"transport", "unix", "unix or tcp: the sockets between them"},
                              {"tick", "0", "microseconds between two timer signals; 0: none"},
                              {"seed", "1", "of the random numbers"}});
  const std::uint64_t clients = o.number("clients", 1), requests = o.number("requests", 1);
  const bool tcp = o.text("transport") == "tcp";
  if (!tcp && o.text("transport") != "unix") o.refuse("--transport is unix or tcp");
  address where;
  const int listener = listen_somewhere(tcp, where);
  if (listener < 0) o.refuse(std::string("cannot listen: ") + std::strerror(errno));
  if (o.number("tick") != 0) tick_every(o.number("tick"));

  const auto began = std::chrono::steady_clock::now();
  server s(listener, clients, o.number("workers", 1), o.number("shards", 1));
  std::vector<client_result> results(clients);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < clients; ++i)
    threads.emplace_back([&, i] { results[i] = run_client(where, i, requests, o.number("seed")); });
  for (std::thread& each : threads) each.join();
  s.wait_until_done();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  ::close(listener);

  bool right = true;
  std::map<std::uint64_t, std::int64_t> expected, found;
  for (const client_result& each : results) {
    right = right && each.right;
    for (const auto& [key, value] : each.added) expected[key] += value;
  }
  s.values().for_each([&](std::uint64_t key, std::int64_t value) { found[key] = value; });
  // A key that was only asked for is not there.
  std::erase_if(expected, [&](const auto& each) { return each.second == 0; });
  std::erase_if(found, [](const auto& each) { return each.second == 0; });
  const bool consistent = right && found == expected;

  std::uint64_t served = 0;
  for (const std::uint64_t each : s.done().requests) served += each;
  std::printf(
      "{\"workload\": \"request_server\", \"requests\": %llu, \"checksum\": \"%016llx\","
      " \"entries\": %zu, \"ticks\": %d, \"seconds\": %.6f, \"consistent\": %s}\n",
      static_cast<unsigned long long>(served), static_cast<unsigned long long>(checksum(found)),
      found.size(), static_cast<int>(ticks), took.count(), consistent ? "true" : "false");
  return consistent && served == clients * requests ? 0 : 1;
}
