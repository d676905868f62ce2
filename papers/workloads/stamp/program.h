// program.h -- what the STAMP-like programs share: presets of parameters, the variant by name, a
// team of threads with a barrier, the time of its parallel region, and the result with its verdict.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../options.h"
#include "../random_numbers.h"
#include "transaction.h"

namespace workloads::stamp {

// Of all threads, where transactions are calls that count themselves.
struct transaction_counts {
  std::atomic<std::uint64_t> attempts{0}, commits{0};
};
// Adds the calling thread's; null where they do not.
inline void (*end_of_thread)(transaction_counts& to) = nullptr;

// A program's parameters, each with its value in each preset; the first preset is the default.
struct parameter {
  const char* name;
  const char* help;
  std::vector<const char*> values;
};
struct parameters {
  std::vector<const char*> presets;
  std::vector<parameter> list;
};

class program {
 public:
  // Reads the command line; ends the program for --help and for what it does not understand.
  // The last argument is how the program itself is built; program.cpp is built once for all.
  program(int argc, char** argv, const char* name, const char* about, const parameters& all,
          bool gnu_tm = built_with_gnu_tm);
  ~program();
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  // The value of a parameter; what is no number of at least `least` ends the program.
  [[nodiscard]] std::uint64_t number(const char* parameter, std::uint64_t least = 0) const;
  // The same for a number with a decimal point, of at least 0.
  [[nodiscard]] double real(const char* parameter) const;
  [[nodiscard]] std::uint32_t threads() const { return threads_; }
  // The random numbers of one thread, or of the generator (thread -1).
  [[nodiscard]] random_numbers random(std::int64_t thread = -1) const;
  // Ends the program: parameters that do not fit together.
  [[noreturn]] void refuse(const std::string& why) const { options_->refuse(why); }

  // Runs work(thread) -> operations on every thread; called once. This is the timed region.
  void run(const std::function<std::uint64_t(std::uint32_t)>& work);
  // Waits until all threads of run() are here.
  void barrier();
  // The half-open range that thread `t` has of `count` things dealt out in equal parts.
  struct range {
    std::uint64_t first, last;
  };
  [[nodiscard]] range part(std::uint32_t t, std::uint64_t count) const {
    return {count * t / threads_, count * (t + 1) / threads_};
  }

  // Whether the user asks for a wrong result (--inject-error 1), to see that the check finds it.
  [[nodiscard]] bool inject_error() const { return options_->flag("inject-error"); }
  // Adds a number to what is printed: one that depends on parameters and seed alone, or one that
  // may differ between runs.
  void result(const char* name, std::uint64_t value) { results_.push_back({name, value}); }
  void varying_result(const char* name, std::uint64_t value) { varying_.push_back({name, value}); }
  // Prints everything. Returns the exit status: 1 when the check failed.
  [[nodiscard]] int finish(bool check_passed) const;

 private:
  struct team;
  struct named_number {
    std::string name;
    std::uint64_t value;
  };

  void choose_variant(bool gnu_tm);
  [[nodiscard]] int print_json(bool check_passed) const;

  const char* const name_;
  std::vector<std::string> words_;  // of the command line
  std::vector<std::string> parameters_;
  std::string lock_;  // its name; empty where there is none
  std::unique_ptr<options> options_;
  std::uint32_t threads_ = 1;
  std::vector<named_number> results_, varying_;
  std::unique_ptr<team> team_;
};

}  // namespace workloads::stamp
