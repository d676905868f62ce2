// harness.h -- what the client/server programs over the stack share: options, the two stacks with
// their link, the threads of both sides, the measurement, and the line of JSON.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../common.h"
#include "../presets.h"
#include "stack.h"

namespace net {

// The server's end of a connection; takes the time that reading takes.
class peer {
 public:
  explicit peer(socket connected) : socket_(std::move(connected)) {}

  // Throws socket_error when the stream ends before `data` is full.
  void read(std::span<std::uint8_t> data);
  // Numbers go as they lie in memory: both ends are one machine.
  template <class T>
  T read_number() {
    T result;
    read({reinterpret_cast<std::uint8_t*>(&result), sizeof result});
    return result;
  }
  void send(bytes data) { socket_.send(data); }
  void finish() { socket_.finish(); }

  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }
  [[nodiscard]] nanoseconds time_reading() const { return time_reading_; }

 private:
  socket socket_;
  std::uint64_t bytes_read_ = 0;
  nanoseconds time_reading_ = 0;
};

// A program over the stack. Connection i is client thread i with server thread i. The client may be
// another process: what the server computes reaches it in answer() only.
class network_program {
 public:
  virtual ~network_program() = default;

  // Client, one thread a connection: everything that it has to say.
  virtual void send(std::size_t connection, socket& to) = 0;
  // Server, one thread a connection: reads all of that.
  virtual void read(std::size_t connection, peer& from) = 0;
  // Server, once, after all has been read: the work, by so many threads.
  virtual void compute(std::size_t threads) = 0;
  // Server, after that.
  virtual std::vector<std::uint8_t> answer(std::size_t connection) = 0;
  // Client, once, at the end: whether these answers are those of the sequential program.
  virtual bool check(const std::vector<std::vector<std::uint8_t>>& answers) = 0;
  // Server: further members of the line of JSON.
  virtual std::string results() = 0;
};

// The options that all programs have, with the sizes of this one: in the presets tiny, sim, small,
// paper and large.
std::vector<workloads::option> network_options(const std::vector<workloads::sized>& sizes);

// Runs client and server and prints the line of JSON. Returns the program's exit status.
int run_network_program(const char* name, const workloads::options& o, network_program& program);

// Runs work(i) for i < count on as many threads.
template <class Work>
void in_parallel(std::size_t count, Work work) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& each : threads) each.join();
}

template <class T>
bytes as_bytes(const std::vector<T>& data) {
  return {reinterpret_cast<const std::uint8_t*>(data.data()), data.size() * sizeof(T)};
}
template <class T>
void append(std::vector<std::uint8_t>& to, const T& number) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(&number);
  to.insert(to.end(), from, from + sizeof number);
}

}  // namespace net
