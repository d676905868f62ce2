// harness.cpp -- see harness.h.
#include "harness.h"

#include <cstdio>
#include <exception>
#include <functional>
#include <system_error>

#include <sys/wait.h>
#include <unistd.h>

#include "link_descriptor.h"
#include "link_impaired.h"
#include "link_memory.h"

namespace net {

namespace {

constexpr std::uint16_t port = 7001;
constexpr std::uint32_t server_address = 0x0a490001, client_address = 0x0a490002;
// More than the windows of several connections hold, however small the packets are.
constexpr std::size_t queue_packets = 8192;

struct setup {
  std::size_t connections;
  stack_settings server, client;
  impairment_settings network;
};

// The first failure of several threads; the others are its consequences.
class failures {
 public:
  template <class Work>
  void guard(Work work) {
    try {
      work();
    } catch (const std::exception& error) {
      const section hold(lock_);
      if (first_.empty()) first_ = error.what();
    }
  }
  // Throws what has failed.
  void raise() const {
    if (!first_.empty()) throw socket_error(first_);
  }

 private:
  chosen_lock lock_;
  std::string first_;
};

// ---- the client ----

std::vector<std::uint8_t> receive_answer(socket& from) {
  std::uint64_t size;
  if (!from.receive_all({reinterpret_cast<std::uint8_t*>(&size), sizeof size}))
    throw socket_error("the server has hung up");
  std::vector<std::uint8_t> result(size);
  if (!from.receive_all(result)) throw socket_error("the server's answer is incomplete");
  return result;
}

// Returns whether the answers were right.
bool run_client(link& link, const setup& how, network_program& program) {
  std::vector<std::vector<std::uint8_t>> answers(how.connections);
  failures failed;
  {
    impaired_link bad(link, how.network);
    stack sockets(how.network.any() ? static_cast<net::link&>(bad) : link, how.client);
    sockets.start();
    in_parallel(how.connections, [&](std::size_t i) {
      failed.guard([&] {
        socket server = sockets.connect({server_address, port});
        const std::uint64_t number = i;
        server.send({reinterpret_cast<const std::uint8_t*>(&number), sizeof number});
        program.send(i, server);
        server.finish();
        answers[i] = receive_answer(server);
      });
    });
  }
  failed.raise();
  return program.check(answers);
}

// ---- the server ----

struct served {
  workloads::outcome reading;
  stack_counters counters;
};

// Accepts all connections and reads all they say.
std::vector<std::unique_ptr<peer>> read_all(listener& at, const setup& how,
                                            network_program& program) {
  std::vector<std::unique_ptr<peer>> peers(how.connections);
  std::vector<std::thread> threads;
  failures failed;
  for (std::size_t i = 0; i < how.connections; ++i) {
    std::optional<socket> next = at.accept();
    if (!next) failed.guard([] { throw socket_error("the client is gone"); });
    if (!next) break;
    auto from = std::make_unique<peer>(std::move(*next));
    threads.emplace_back([&, from = std::move(from)]() mutable {
      failed.guard([&] {
        const auto number = from->read_number<std::uint64_t>();
        if (number >= peers.size() || peers[number])
          throw socket_error("two clients have the same number");
        program.read(number, *from);
        peers[number] = std::move(from);
      });
    });
  }
  for (std::thread& each : threads) each.join();
  failed.raise();
  return peers;
}

workloads::outcome time_of_reading(const std::vector<std::unique_ptr<peer>>& peers) {
  workloads::outcome result;
  for (const auto& each : peers)
    result.shares.push_back({each->bytes_read(), 0, each->time_reading()});
  return result;
}

served run_server(link& link, const setup& how, network_program& program) {
  impaired_link bad(link, how.network);
  stack sockets(how.network.any() ? static_cast<net::link&>(bad) : link, how.server);
  const std::shared_ptr<listener> at = sockets.listen(port);
  sockets.start();
  const std::vector<std::unique_ptr<peer>> peers = read_all(*at, how, program);
  program.compute(how.connections);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const std::vector<std::uint8_t> answer = program.answer(i);
    std::vector<std::uint8_t> message;
    append(message, std::uint64_t{answer.size()});
    message.insert(message.end(), answer.begin(), answer.end());
    peers[i]->send(message);
    peers[i]->finish();
  }
  return {time_of_reading(peers), sockets.counters()};
}

// ---- both ----

// Returns whether the client was content.
bool in_one_process(const setup& how, network_program& program, served& result) {
  memory_wire wire(queue_packets);
  bool right = false;
  failures failed;
  std::thread client([&] {
    failed.guard([&] { right = run_client(wire.second(), how, program); });
    if (!right) wire.first().stop();  // the server should not wait for it
  });
  failed.guard([&] { result = run_server(wire.first(), how, program); });
  client.join();
  failed.raise();
  return right;
}

int be_the_client(file_descriptor end, const setup& how, network_program& program) {
  try {
    descriptor_link link(std::move(end));
    return run_client(link, how, program) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "client: %s\n", error.what());
    return 1;
  }
}

bool in_two_processes(const setup& how, network_program& program, served& result) {
  auto [ours, theirs] = make_unix_link();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    { const file_descriptor close_it(std::move(ours)); }
    ::_exit(be_the_client(std::move(theirs), how, program));
  }
  { const file_descriptor close_it(std::move(theirs)); }
  failures failed;
  failed.guard([&] {
    descriptor_link link(std::move(ours));
    result = run_server(link, how, program);
  });
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  failed.raise();
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

unsigned percent(const workloads::options& o, std::string_view name) {
  const std::uint64_t value = o.number(name);
  if (value > 50) o.refuse("--" + std::string(name) + " is at most 50");
  return static_cast<unsigned>(value);
}

setup read_options(const workloads::options& o) {
  const std::optional<locking> chosen = locking_by_name(o.text("locking"));
  if (!chosen) o.refuse("no locking is called '" + o.text("locking") + "'; see --help");
  chosen_locking = *chosen;
  const std::string& link = o.text("link");
  if (link != "memory" && link != "unix") o.refuse("--link is memory or unix, not '" + link + "'");
  // Only the simulated machine has this function.
  if (link == "unix" && syncopate_mark != nullptr)
    o.refuse("on the simulated machine there is only --link memory");
  setup result;
  result.connections = o.number("threads", 1);
  const std::uint64_t mss = o.number("mss", 64);
  if (mss > 1460) o.refuse("--mss is at most 1460");
  stack_settings common;
  common.tcp.mss = static_cast<std::uint16_t>(mss);
  common.tcp.least_time_out = o.number("time-out", 1) * millisecond;
  common.tcp.time_wait = o.number("time-wait") * millisecond;
  common.seed = o.number("seed");
  result.server = result.client = common;
  result.server.address = server_address;
  result.client.address = client_address;
  result.network = {percent(o, "lost"), percent(o, "doubled"), percent(o, "reordered"), 0,
                    o.number("seed")};
  return result;
}

std::string describe(const workloads::options& o, const served& result) {
  using workloads::member;
  const tcp_counters& tcp = result.counters.tcp;
  const double seconds = result.reading.seconds();
  char bandwidth[64];
  std::snprintf(bandwidth, sizeof bandwidth, "\"bytes_per_second\": %.0f, ",
                seconds > 0 ? static_cast<double>(result.reading.operations()) / seconds : 0.0);
  return member("locking", o.text("locking")) + member("link", o.text("link")) +
         member("preset", o.text("preset")) + bandwidth + member("segments_sent", tcp.sent) +
         member("segments_received", tcp.received) + member("time_outs", tcp.time_outs) +
         member("fast_retransmissions", tcp.fast_retransmissions) +
         member("damaged", result.counters.damaged);
}

}  // namespace

void peer::read(std::span<std::uint8_t> data) {
  const nanoseconds began = syncopate::machine::now();
  const bool complete = socket_.receive_all(data);
  time_reading_ += syncopate::machine::now() - began;
  if (!complete) throw socket_error("the client has hung up");
  bytes_read_ += data.size();
}

std::vector<workloads::option> network_options(const std::vector<workloads::sized>& sizes) {
  std::vector<workloads::option> result{
      workloads::preset_option("small", {"tiny", "sim", "small", "paper", "large"})};
  for (const workloads::sized& each : sizes) result.push_back(each.as_option());
  const std::vector<workloads::option> others{
      {"threads", "2", "connections; each has a thread in the client and one in the server"},
      {"locking", "mutex",
       "of the stack: mutex, tsx.abort, tsx.cond, mutex.busywait, tsx.busywait"},
      {"link", "memory", "memory: both in one process; unix: two, with a socket pair between them"},
      {"lost", "0", "packets in a hundred that get lost"},
      {"doubled", "0", "packets in a hundred that come twice"},
      {"reordered", "0", "packets in a hundred that the next one overtakes"},
      {"mss", "1460", "the most bytes in a segment"},
      {"time-out", "200", "milliseconds, at least, until a segment is sent again"},
      {"time-wait", "100", "milliseconds that a closed connection is remembered"},
      workloads::seed_option};
  result.insert(result.end(), others.begin(), others.end());
  return result;
}

int run_network_program(const char* name, const workloads::options& o, network_program& program) {
  const setup how = read_options(o);
  try {
    served result;
    const bool right = o.text("link") == "memory" ? in_one_process(how, program, result)
                                                  : in_two_processes(how, program, result);
    if (!right) std::fprintf(stderr, "%s: not what the sequential program computes\n", name);
    return workloads::report(name, o, result.reading, right,
                             describe(o, result) + program.results());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace net
