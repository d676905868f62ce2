// process_limits.h -- what else the kernel and the C library keep of the process: its limits, its
// priority, its name, the stack of its signals, the attributes of new threads. Each is kept when
// the program is about to change it, and put back once.
#pragma once

#include <csignal>
#include <map>
#include <optional>

#include <pthread.h>
#include <sys/resource.h>

namespace syncopate::instrument {

class process_limits {
 public:
  // About to be changed.
  void keep_limit(int resource);
  void keep_priority();
  void keep_name();
  void keep_signal_stack();
  void keep_attributes();

  // What cannot be put back ends the process with a line.
  void restore();

 private:
  struct name {
    char text[16];
  };
  std::map<int, rlimit> limits_;
  std::optional<int> priority_;
  std::optional<name> name_;
  std::optional<stack_t> signal_stack_;
  std::optional<pthread_attr_t> attributes_;
};

}  // namespace syncopate::instrument
