// memcached_load.cpp -- one hot key: several connections send pipelined `incr hot 1` to a memcached
// on loopback as fast as it answers, so that its threads meet at one item lock.
//
//   memcached_load --port P [--host 127.0.0.1] [--clients 1] [--connections 16] [--depth 64]
//                  [--noreply N] [--seconds 2]
//
// With --noreply N every answered increment comes after N that ask for no answer: the client
// and the kernel's network then cost little, and what is left is the server's own work.
// A client is one thread with so many connections and poll(2): it must leave the processors to the
// server, but one alone does not keep a server with many of them busy. Every reply is read and
// must be a number; at the end the key must hold exactly as much as was acknowledged. Prints one
// line of JSON: {"operations_per_second", "operations", "seconds", "value", "lost"}.
// Exit status 0; 1 when increments were lost; 2 for anything else (one line on standard error).

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kIncrement = "incr hot 1\r\n";
constexpr std::string_view kSilent = "incr hot 1 noreply\r\n";

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "memcached_load: %s\n", message.c_str());
  std::exit(2);
}

struct Options {
  std::string host = "127.0.0.1";
  int port = 0, clients = 1, connections = 16, depth = 64, noreply = 0;
  double seconds = 2.0;
};

Options parse(int argc, char** argv) {
  Options options;
  const std::map<std::string_view, std::function<void(const char*)>> known = {
      {"--host", [&](const char* text) { options.host = text; }},
      {"--port", [&](const char* text) { options.port = std::atoi(text); }},
      {"--clients", [&](const char* text) { options.clients = std::atoi(text); }},
      {"--connections", [&](const char* text) { options.connections = std::atoi(text); }},
      {"--noreply", [&](const char* text) { options.noreply = std::atoi(text); }},
      {"--depth", [&](const char* text) { options.depth = std::atoi(text); }},
      {"--seconds", [&](const char* text) { options.seconds = std::atof(text); }},
  };
  for (int i = 1; i < argc; i += 2) {
    const auto option = known.find(argv[i]);
    if (option == known.end() || i + 1 == argc) fail("bad option " + std::string(argv[i]));
    option->second(argv[i + 1]);
  }
  if (options.port <= 0) fail("--port is missing");
  if (options.clients < 1 || options.connections < 1 || options.depth < 1)
    fail("need at least one client, connection and depth");
  if (options.noreply < 0 || options.noreply * options.depth > 100'000) fail("bad --noreply");
  return options;
}

int connect_to(const Options& options) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(options.port));
  if (inet_pton(AF_INET, options.host.c_str(), &address.sin_addr) != 1) fail("bad --host");
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    fail(std::string("cannot connect: ") + std::strerror(errno));
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

// Blocking: a command of a few bytes and its one-line reply.
std::string ask(int fd, std::string_view command) {
  if (write(fd, command.data(), command.size()) != static_cast<ssize_t>(command.size())) {
    fail("the server closed the connection");
  }
  std::string reply;
  char byte = 0;
  while (read(fd, &byte, 1) == 1 && byte != '\n') reply += byte;
  if (reply.empty()) fail("the server closed the connection");
  return reply;
}

// A connection with up to `depth` increments in flight.
class Pipeline {
 public:
  Pipeline(int fd, int depth, int noreply) : fd_(fd), depth_(depth), weight_(noreply + 1) {
    std::string one;
    for (int i = 0; i < noreply; ++i) one += kSilent;
    one += kIncrement;
    length_ = one.size();
    for (int i = 0; i < depth; ++i) batch_ += one;
  }
  int fd() const { return fd_; }
  std::uint64_t acknowledged() const { return acknowledged_; }
  int in_flight() const { return in_flight_; }

  // Refills only from half empty on: fewer, larger writes leave the processor to the server.
  void refill() {
    if (in_flight_ > depth_ / 2) return;
    std::size_t left = static_cast<std::size_t>(depth_ - in_flight_) * length_;
    in_flight_ = depth_;
    const char* next = batch_.data();
    while (left != 0) {  // a batch is far below a socket buffer: this hardly ever blocks
      const ssize_t written = write(fd_, next, left);
      if (written <= 0) fail("the server closed the connection");
      next += written;
      left -= static_cast<std::size_t>(written);
    }
  }

  void receive() {
    char buffer[16384];
    const ssize_t length = read(fd_, buffer, sizeof buffer);
    if (length <= 0) fail("the server closed the connection");
    for (ssize_t i = 0; i < length; ++i) {
      if (buffer[i] == '\n') {
        acknowledged_ += weight_;
        --in_flight_;
      } else if (buffer[i] != '\r' && (buffer[i] < '0' || buffer[i] > '9')) {
        fail("unexpected reply: " + std::string(buffer + i, std::min<ssize_t>(length - i, 40)));
      }
    }
  }

 private:
  int fd_;
  int depth_;
  std::uint64_t weight_;    // increments per answer
  std::size_t length_ = 0;  // bytes per answer
  int in_flight_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::string batch_;
};

// Sends until `seconds` have passed, then collects what is still in flight.
double drive(std::vector<Pipeline>& pipelines, double seconds) {
  std::vector<pollfd> waiting;
  for (Pipeline& pipeline : pipelines) waiting.push_back({pipeline.fd(), POLLIN, 0});
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  for (Pipeline& pipeline : pipelines) pipeline.refill();
  const auto outstanding = [&] {
    return std::any_of(pipelines.begin(), pipelines.end(),
                       [](const Pipeline& pipeline) { return pipeline.in_flight() > 0; });
  };
  for (bool sending = true; sending || outstanding();) {
    if (poll(waiting.data(), waiting.size(), 5000) <= 0) fail("no reply for five seconds");
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      pipelines[i].receive();
      if (sending) pipelines[i].refill();
    }
    sending = sending && elapsed() < seconds;
  }
  return elapsed();
}

struct Client {
  std::uint64_t acknowledged = 0;
  double seconds = 0;
};

Client run_client(const Options& options) {
  std::vector<Pipeline> pipelines;
  for (int i = 0; i < options.connections; ++i)
    pipelines.emplace_back(connect_to(options), options.depth, options.noreply);
  Client client{.seconds = drive(pipelines, options.seconds)};
  for (const Pipeline& pipeline : pipelines) client.acknowledged += pipeline.acknowledged();
  return client;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const int control = connect_to(options);
  if (ask(control, "set hot 0 0 1\r\n0\r\n") != "STORED\r") fail("cannot store the hot key");
  std::vector<Client> clients(static_cast<std::size_t>(options.clients));
  {
    std::vector<std::jthread> threads;
    for (Client& client : clients)
      threads.emplace_back([&client, &options] { client = run_client(options); });
  }
  std::uint64_t operations = 0;
  double seconds = 0;
  for (const Client& client : clients) {
    operations += client.acknowledged;
    seconds = std::max(seconds, client.seconds);
  }
  const std::uint64_t value = std::strtoull(ask(control, "incr hot 0\r\n").c_str(), nullptr, 10);
  std::printf(
      "{\"operations_per_second\":%.0f,\"operations\":%llu,\"seconds\":%.3f,\"value\":%llu,"
      "\"lost\":%lld}\n",
      static_cast<double>(operations) / seconds, static_cast<unsigned long long>(operations),
      seconds, static_cast<unsigned long long>(value), static_cast<long long>(operations - value));
  return operations == value ? 0 : 1;
}
