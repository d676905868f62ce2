// server.h -- the server of request_server.cpp: one thread accepts connections and reads requests,
// others answer them.
#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bounded_queue.h"
#include "protocol.h"
#include "table.h"

struct connection {
  explicit connection(int fd) : socket(fd) {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection() { ::close(socket); }

  const int socket;
  std::mutex writing;
};

// What the workers did, and the processor time that they used.
struct work_done {
  std::array<std::uint64_t, operations> requests{};
  std::int64_t processor_nanoseconds = 0;
};

class server {
 public:
  // Serves whoever connects to `listener`, until `clients` have come and hung up.
  server(int listener, std::size_t clients, std::size_t workers, std::size_t shards)
      : listener_(listener), clients_(clients), values_(shards), queue_(2 * workers) {
    threads_.emplace_back([this] { read_requests(); });
    for (std::size_t i = 0; i < workers; ++i) threads_.emplace_back([this] { answer_requests(); });
  }

  void wait_until_done() {
    for (std::thread& each : threads_) each.join();
  }

  table& values() { return values_; }
  work_done done() {
    const std::lock_guard hold(counting_);
    return done_;
  }

 private:
  struct job {
    std::shared_ptr<connection> from;
    request what;
  };

  void read_requests() {
    std::vector<std::shared_ptr<connection>> open;
    for (std::size_t accepted = 0; accepted < clients_ || !open.empty();) {
      std::vector<pollfd> ready{{listener_, POLLIN, 0}};
      for (const auto& each : open) ready.push_back({each->socket, POLLIN, 0});
      if (::poll(ready.data(), ready.size(), -1) < 0) continue;  // a signal came
      for (std::size_t i = open.size(); i-- > 0;)
        if (ready[i + 1].revents != 0 && !read_request(open[i])) open.erase(open.begin() + i);
      if (ready[0].revents == 0) continue;
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) continue;
      open.push_back(std::make_shared<connection>(socket));
      ++accepted;
    }
    queue_.close();
  }

  bool read_request(const std::shared_ptr<connection>& from) {
    request what;
    if (!receive(from->socket, what)) return false;
    queue_.push({from, what});
    return true;
  }

  void answer_requests() {
    while (const std::optional<job> next = queue_.pop()) {
      const answer reply{next->what.id, carry_out(next->what)};
      count(next->what.what);
      const std::lock_guard hold(next->from->writing);
      send(next->from->socket, reply);
    }
  }

  std::int64_t carry_out(const request& r) {
    switch (r.what) {
      case operation::get: return values_.get(r.key);
      case operation::put: return values_.put(r.key, r.amount);
      case operation::add: return values_.add(r.key, r.amount);
      case operation::transfer: return values_.transfer(r.key, r.other, r.amount);
      case operation::move: return values_.move_bucket_of(r.key, r.other);
    }
    return -1;
  }

  // The clock is read while the lock is held: the time that is stored never goes back.
  void count(operation what) {
    const std::lock_guard hold(counting_);
    ++done_.requests[static_cast<std::size_t>(what)];
    timespec used;
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    done_.processor_nanoseconds = used.tv_sec * 1'000'000'000 + used.tv_nsec;
  }

  const int listener_;
  const std::size_t clients_;
  table values_;
  bounded_queue<job> queue_;
  std::mutex counting_;
  work_done done_;
  std::vector<std::thread> threads_;
};
