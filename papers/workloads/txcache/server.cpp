// server.cpp -- see server.h. A connection belongs to one worker, which waits for it by epoll; the
// accepting thread hands connections out in turn.
#include "server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "protocol.h"

namespace workloads::txcache {

namespace {

class descriptor {
 public:
  explicit descriptor(int number = -1) : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

void watch(int poll, int number, std::uint32_t events, void* what, int operation = EPOLL_CTL_ADD) {
  epoll_event e = {};
  e.events = events;
  e.data.ptr = what;
  epoll_ctl(poll, operation, number, &e);
}

// ---- one connection ---------------------------------------------------------------------------

struct connection {
  descriptor socket;
  protocol commands;
  std::string input, output;
  bool waits_to_write = false, closes = false;
};

// Reads what is there, up to a bound so that others have their turn. Returns false at the end.
bool receive(connection& c) {
  char buffer[32 << 10];
  const ssize_t count = read(c.socket.get(), buffer, sizeof buffer);
  if (count > 0) c.input.append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

bool send_output(connection& c) {
  std::size_t sent = 0;
  while (sent < c.output.size()) {
    const ssize_t count =
        send(c.socket.get(), c.output.data() + sent, c.output.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    sent += static_cast<std::size_t>(count);
  }
  const bool failed = sent < c.output.size() && errno != EAGAIN;
  c.output.erase(0, sent);
  return !failed;
}

// ---- a worker ---------------------------------------------------------------------------------

class serving_thread {
 public:
  explicit serving_thread(const server_options& options)
      : options_(options),
        self_(add_worker()),
        poll_(epoll_create1(EPOLL_CLOEXEC)),
        stop_(eventfd(0, EFD_CLOEXEC)) {
    watch(poll_.get(), stop_.get(), EPOLLIN, nullptr);
    thread_ = std::thread([this] { run(); });
  }

  void add(descriptor socket) {
    const int number = socket.get();
    auto* const c = new connection{
        std::move(socket), protocol(self_, options_.threads, options_.largest_value), {}, {}};
    {
      const std::scoped_lock held(lock_);
      connections_.insert(c);
    }
    count_connection(1);
    watch(poll_.get(), number, EPOLLIN, c);
  }

  ~serving_thread() {
    const std::uint64_t one = 1;
    if (write(stop_.get(), &one, sizeof one) == sizeof one) thread_.join();
    for (connection* c : connections_) delete c;
  }

 private:
  void run() {
    epoll_event events[64];
    for (;;) {
      const int count = epoll_wait(poll_.get(), events, 64, -1);
      for (int i = 0; i < count; ++i) {
        auto* const c = static_cast<connection*>(events[i].data.ptr);
        if (c == nullptr) return;
        if (!serve(*c, events[i].events)) drop(c);
      }
    }
  }

  // Who does not read replies is not read from.
  bool serve(connection& c, std::uint32_t events) {
    if (c.waits_to_write) {
      if ((events & EPOLLOUT) == 0) return false;
    } else if (!receive(c)) {
      return false;
    }
    do {
      if (c.output.empty()) c.closes = !c.commands.run(c.input, c.output);
      if (!send_output(c)) return false;
    } while (c.output.empty() && !c.closes && c.commands.has_more());
    if (c.output.empty() && c.closes) return false;
    if (const bool waits = !c.output.empty(); waits != c.waits_to_write) {
      watch(poll_.get(), c.socket.get(), waits ? EPOLLOUT : EPOLLIN, &c, EPOLL_CTL_MOD);
      c.waits_to_write = waits;
    }
    return true;
  }

  void drop(connection* c) {
    {
      const std::scoped_lock held(lock_);
      connections_.erase(c);
    }
    delete c;
    count_connection(-1);
  }

  const server_options& options_;
  worker* self_;
  descriptor poll_, stop_;
  std::mutex lock_;  // of connections_
  std::set<connection*> connections_;
  std::thread thread_;
};

// ---- the accepting thread ---------------------------------------------------------------------

std::string system_error(const std::string& what) { return what + ": " + std::strerror(errno); }

std::string listen_at_path(const server_options& options, descriptor& listener) {
  sockaddr_un place = {};
  place.sun_family = AF_UNIX;
  if (options.socket_path.size() >= sizeof place.sun_path) return "--socket: the path is too long";
  options.socket_path.copy(place.sun_path, sizeof place.sun_path - 1);
  listener = descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) != 0 ||
      listen(listener.get(), 1024) != 0)
    return system_error("cannot listen at " + options.socket_path);
  return "";
}

std::string listen_at_port(const server_options& options, descriptor& listener, unsigned& port) {
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(options.port));
  if (inet_pton(AF_INET, options.address.c_str(), &place.sin_addr) != 1)
    return "--address needs a number such as 127.0.0.1, not '" + options.address + "'";
  listener = descriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) != 0 ||
      listen(listener.get(), 1024) != 0)
    return system_error("cannot listen at port " + std::to_string(options.port)) +
           "; choose another --port";
  socklen_t size = sizeof place;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&place), &size);
  port = ntohs(place.sin_port);
  return "";
}

descriptor signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return descriptor(signalfd(-1, &set, SFD_CLOEXEC));
}

descriptor every_second() {
  descriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec second = {{1, 0}, {1, 0}};
  timerfd_settime(timer.get(), 0, &second, nullptr);
  return timer;
}

void accept_all(int listener, std::vector<std::unique_ptr<serving_thread>>& threads,
                std::size_t& next) {
  for (;;) {
    descriptor socket(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.get() < 0) return;
    const int yes = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    threads[next++ % threads.size()]->add(std::move(socket));
  }
}

}  // namespace

std::string serve(const server_options& options) {
  descriptor listener;
  unsigned port = 0;
  const bool by_path = !options.socket_path.empty();
  const std::string error =
      by_path ? listen_at_path(options, listener) : listen_at_port(options, listener, port);
  if (!error.empty()) return error;
  descriptor poll(epoll_create1(EPOLL_CLOEXEC)), ends = signals(), timer = every_second();
  std::vector<std::unique_ptr<serving_thread>> threads;
  for (unsigned i = 0; i < options.threads; ++i)
    threads.push_back(std::make_unique<serving_thread>(options));
  for (descriptor* d : {&listener, &ends, &timer}) watch(poll.get(), d->get(), EPOLLIN, d);
  if (by_path) std::printf("ready at %s\n", options.socket_path.c_str());
  else std::printf("ready at %s:%u\n", options.address.c_str(), port);
  std::fflush(stdout);

  std::uint64_t now = first_second, seconds = 0;
  std::size_t next = 0;
  for (epoll_event e;;) {
    if (epoll_wait(poll.get(), &e, 1, -1) != 1) continue;
    if (e.data.ptr == &ends) break;
    if (e.data.ptr == &listener) accept_all(listener.get(), threads, next);
    else if (read(timer.get(), &seconds, sizeof seconds) > 0) tick(now += seconds);
  }
  if (by_path) unlink(options.socket_path.c_str());
  return "";
}

}  // namespace workloads::txcache
