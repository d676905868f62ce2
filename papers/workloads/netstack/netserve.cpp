// netserve.cpp -- the stack beside the kernel's TCP: a TUN device between them, an HTTP server or
// client on our side, and curl or any other program on the kernel's.
#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <zlib.h>

#include "../options.h"
#include "http.h"
#include "link_descriptor.h"
#include "link_impaired.h"

namespace {

using net::bytes;

// What `GET /N` answers: N bytes of this.
std::uint8_t pattern_byte(std::uint64_t at) {
  return static_cast<std::uint8_t>((at * 0x9e3779b97f4a7c15u) >> 56);
}

void send_pattern(net::socket& to, std::uint64_t size) {
  std::uint8_t some[16384];
  for (std::uint64_t at = 0; at < size;) {
    const std::uint64_t count = std::min<std::uint64_t>(sizeof some, size - at);
    for (std::uint64_t i = 0; i < count; ++i) some[i] = pattern_byte(at + i);
    to.send(bytes(some).first(count));
    at += count;
  }
}

// A body: how long it was, and the checksum of zlib's crc32.
struct digest {
  std::uint64_t size = 0;
  uLong crc = ::crc32(0, nullptr, 0);
  void add(bytes data) {
    size += data.size();
    crc = ::crc32(crc, data.data(), static_cast<uInt>(data.size()));
  }
  [[nodiscard]] std::string text() const {
    char result[64];
    std::snprintf(result, sizeof result, "%llu bytes, crc32 %08lx\n",
                  static_cast<unsigned long long>(size), crc);
    return result;
  }
};

// The body that follows `head`: so long, or until the end of the stream.
digest read_body(net::socket& from, const net::http::head& head,
                 std::optional<std::uint64_t> size) {
  digest result;
  result.add(net::http::as_bytes(head.rest));
  std::uint8_t some[16384];
  while (!size || result.size < *size) {
    const std::size_t count = from.receive(some);
    if (count == 0) break;
    result.add(bytes(some).first(count));
  }
  return result;
}

void send_text(net::socket& to, const std::string& status, const std::string& body) {
  to.send(net::http::as_bytes("HTTP/1.0 " + status + "\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body));
}

// GET /N: N bytes. PUT or POST: the length and checksum of what was sent.
void answer(net::socket& client) {
  const std::optional<net::http::head> head = net::http::read_head(client);
  if (!head) return;
  const std::string& text = head->lines;
  if (text.starts_with("GET /")) {
    std::uint64_t size = 0;
    const char *const begin = &text[5], *const end = text.data() + text.size();
    const auto [behind, error] = std::from_chars(begin, end, size);
    if (error != std::errc() || behind == begin || (behind != end && *behind > ' ')) {
      send_text(client, "400 Bad Request", "GET /N, for N bytes\n");
      client.finish();
      return;
    }
    client.send(net::http::as_bytes("HTTP/1.0 200 OK\r\nContent-Length: " + std::to_string(size) +
                                    "\r\n\r\n"));
    send_pattern(client, size);
  } else if (text.starts_with("PUT ") || text.starts_with("POST ")) {
    if (text.find("100-continue") != std::string::npos)
      client.send(net::http::as_bytes("HTTP/1.1 100 Continue\r\n\r\n"));
    send_text(client, "200 OK",
              read_body(client, *head, head->number("content-length").value_or(0)).text());
  } else {
    send_text(client, "501 Not Implemented", "GET, PUT or POST\n");
  }
  client.finish();
}

// Threads that answer a client each. Nothing is left of one that has ended.
class helpers {
 public:
  helpers() = default;
  helpers(const helpers&) = delete;
  helpers& operator=(const helpers&) = delete;
  ~helpers() {
    std::unique_lock hold(lock_);
    one_has_ended_.wait(hold, [this] { return running_ == 0; });
  }

  void begin(net::socket client) {
    {
      const std::scoped_lock hold(lock_);
      ++running_;
    }
    try {
      std::thread([this, client = std::move(client)]() mutable {
        help(std::move(client));
        end();
      }).detach();
    } catch (const std::system_error& error) {  // the connection ends
      say(error);
      end();
    }
  }

 private:
  static void help(net::socket client) {
    try {
      answer(client);
    } catch (const std::exception& error) {
      say(error);
    }
  }
  static void say(const std::exception& error) {
    std::fprintf(stderr, "netserve: %s\n", error.what());
  }
  void end() {
    const std::scoped_lock hold(lock_);
    --running_;
    one_has_ended_.notify_all();
  }

  std::mutex lock_;
  std::condition_variable one_has_ended_;
  std::uint64_t running_ = 0;
};

void serve(net::stack& sockets, std::uint16_t port, std::uint64_t requests) {
  const std::shared_ptr<net::listener> at = sockets.listen(port);
  sockets.start();
  std::printf("ready\n");
  std::fflush(stdout);
  helpers all;
  for (std::uint64_t i = 0; requests == 0 || i < requests; ++i) {
    std::optional<net::socket> next = at->accept();
    if (!next) break;
    all.begin(std::move(*next));
  }
}

void fetch(net::stack& sockets, const net::endpoint& from, std::uint64_t count) {
  sockets.start();
  for (std::uint64_t i = 0; i < count; ++i) {
    net::socket server = sockets.connect(from);
    server.send(net::http::as_bytes("GET / HTTP/1.0\r\n\r\n"));
    const std::optional<net::http::head> head = net::http::read_head(server);
    if (!head) throw net::socket_error("the server's answer is not HTTP");
    std::printf("%s", read_body(server, *head, head->number("content-length")).text().c_str());
  }
}

std::uint32_t address(const workloads::options& o, std::string_view option) {
  in_addr result;
  if (::inet_pton(AF_INET, o.text(option).c_str(), &result) != 1)
    o.refuse("--" + std::string(option) + " needs an address such as 10.73.0.1, not '" +
             o.text(option) + "'");
  return ntohl(result.s_addr);
}

std::uint16_t port(const workloads::options& o, std::string_view option, std::uint64_t least) {
  const std::uint64_t number = o.number(option, least);
  if (number > 65535) o.refuse("--" + std::string(option) + " is at most 65535");
  return static_cast<std::uint16_t>(number);
}

net::impairment_settings network(const workloads::options& o) {
  const auto percent = [&](std::string_view name) {
    return static_cast<unsigned>(std::min<std::uint64_t>(o.number(name), 50));
  };
  return {percent("lost"), percent("doubled"), percent("reordered"), 0, o.number("seed")};
}

// Everything is in user space: the device goes with the process, whatever ends that.
int run(const workloads::options& o) {
  const std::uint32_t kernels = address(o, "kernel"), ours = address(o, "address");
  net::descriptor_link tun(net::make_tun(kernels, ours));
  net::impaired_link bad(tun, network(o));
  net::stack_settings settings;
  settings.address = ours;
  settings.tcp.time_wait = net::second;
  settings.seed = o.number("seed");
  net::stack sockets(bad, settings);
  if (o.number("fetch") == 0) serve(sockets, port(o, "port", 1), o.number("requests"));
  else
    fetch(sockets, {kernels, port(o, "fetch", 0)},
          std::max<std::uint64_t>(1, o.number("requests")));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const workloads::options o(
      argc, argv,
      "An HTTP server (or client) on the user-level TCP/IP stack, beside the kernel's TCP: it "
      "makes\n"
      "a TUN device, for which it needs root. GET /N answers N bytes; PUT and POST answer the "
      "length\n"
      "and checksum of what was sent:  netserve &  curl http://10.73.0.2/1000000 | wc -c\n"
      "Its size is what clients ask for: it has no --preset.",
      {{"kernel", "10.73.0.1", "the kernel's address on the device"},
       {"address", "10.73.0.2", "the stack's"},
       {"port", "80", "where the server listens"},
       {"requests", "0", "ends after so many; 0: never"},
       {"fetch", "0", "not a server: GETs / from this port of the kernel's address"},
       {"locking", "mutex",
        "of the stack: mutex, tsx.abort, tsx.cond, mutex.busywait, tsx.busywait"},
       {"lost", "0", "packets in a hundred of ours that get lost"},
       {"doubled", "0", "packets in a hundred of ours that come twice"},
       {"reordered", "0", "packets in a hundred of ours that the next one overtakes"},
       {"seed", "1", "of the random numbers"}},
      "`ready`, and what it has fetched");
  const std::optional<net::locking> chosen = net::locking_by_name(o.text("locking"));
  if (!chosen) o.refuse("no locking is called '" + o.text("locking") + "'; see --help");
  net::chosen_locking = *chosen;
  try {
    return run(o);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "netserve: %s\n", error.what());
    return 1;
  }
}
