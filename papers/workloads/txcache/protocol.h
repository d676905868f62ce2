// protocol.h -- memcached's text protocol: whole commands in, replies out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cache.h"

namespace workloads::txcache {

// One connection's.
class protocol {
 public:
  protocol(worker* self, unsigned threads, std::size_t largest_value)
      : self_(self), threads_(threads), largest_value_(largest_value) {}

  // Executes the complete commands that `input` begins with, takes them away, and appends the
  // replies. Returns false when the connection has to be closed.
  bool run(std::string& input, std::string& output);
  // Whether the last run() left complete commands, since there was much output already.
  [[nodiscard]] bool has_more() const { return has_more_; }

 private:
  enum class progress { done, needs_more, close };
  using words = std::vector<std::string_view>;

  progress run_one(std::string_view input, std::size_t& used, std::string& output);
  progress store_value(const words& w, std::string_view rest, std::size_t& used,
                       std::string& reply);
  void execute(const words& w, std::string& reply);
  void get_values(const words& w, bool with_cas, std::string& reply);
  void change_number(const words& w, std::string& reply);
  void remove_or_touch(const words& w, std::string& reply);
  void flush_all(const words& w, std::string& reply);
  void statistics(const words& w, std::string& reply);

  worker* self_;
  unsigned threads_;
  std::size_t largest_value_;
  std::size_t skip_ = 0;  // bytes of a value that is too large
  bool quit_ = false, has_more_ = false;
};

}  // namespace workloads::txcache
