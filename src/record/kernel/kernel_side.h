// kernel_side.h -- loads waits.bpf.c into the kernel and takes from it what it tells.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "record/kernel/kernel_events.h"

struct bpf_link;
struct bpf_object;
struct bpf_program;
struct ring_buffer;

namespace syncopate::record::kernel {

// Why the kernel's view does not work here, in one line that says what to do; "" where it does, as
// far as can be told without trying.
std::string obstacle();

class kernel_side {
 public:
  using listener = std::function<void(const event_head&)>;

  explicit kernel_side(listener);
  ~kernel_side();
  kernel_side(const kernel_side&) = delete;
  kernel_side& operator=(const kernel_side&) = delete;

  // Loads and attaches. Returns "" or, in one line, why that fails.
  std::string start(bool follows_children);
  void add(std::uint32_t process);  // from now on it is recorded
  void forget(std::uint32_t process);
  // Lets the kernel describe the threads of recorded processes that wait already.
  void seed();
  // Waits up to so long for urgent news, then hands all events to the listener.
  void poll(int milliseconds);

  // The threads that wait just now.
  std::vector<waiting_thread> waiting() const;
  bool is_waiting_since(std::uint32_t thread, std::uint64_t since);
  // Time in other system calls; with that of calls in which threads are blocked just now.
  std::vector<std::pair<blocked_key, blocked_sum>> blocked(std::uint64_t now);
  void forget_blocked(const blocked_key&);
  // Where threads ran when they were looked at, and how often, since this was asked last; nothing
  // where the kernel has no clock for that.
  std::vector<std::pair<sample_key, std::uint32_t>> cpu_samples();
  // What is kept of a thread's calls before its last one.
  void forget_blocked_of(std::uint32_t thread);
  // Shared with the kernel.
  kernel_controls& controls() { return *controls_; }

 private:
  int map(const char* name) const;
  std::vector<waiting_thread> threads() const;  // of all recorded processes
  void* share(const char* section);
  void sample_with(bpf_program*);

  listener listener_;
  bpf_object* object_ = nullptr;
  ring_buffer* ring_ = nullptr;
  bpf_link* seeder_ = nullptr;
  bpf_link* looker_ = nullptr;
  std::vector<bpf_link*> links_;
  kernel_controls* controls_ = nullptr;
  std::uint64_t* recorded_ = nullptr;
  std::vector<std::pair<void*, std::size_t>> shared_;  // what is mapped, and how large
};

}  // namespace syncopate::record::kernel
