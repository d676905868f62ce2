// thread_table.h -- the threads of an execution, and which of them runs.
#pragma once

#include "thread.h"

#include <array>
#include <utility>

namespace syncopate::explored {

class thread_table {
 public:
  thread& operator[](unsigned t) noexcept { return all_[t]; }
  const thread& operator[](unsigned t) const noexcept { return all_[t]; }
  [[nodiscard]] unsigned count() const noexcept { return count_; }  // of this execution
  [[nodiscard]] thread_index current() const noexcept { return current_; }
  thread& running() noexcept { return all_[current_]; }
  [[nodiscard]] const thread& running() const noexcept { return all_[current_]; }

  // An execution begins, with one thread.
  void begin() {
    for (thread& t : all_) t.forget();
    count_ = 1;
  }
  [[nodiscard]] bool is_full() const noexcept { return count_ == max_threads; }
  thread_index add() noexcept { return static_cast<thread_index>(count_++); }  // it has been free
  void run(thread_index t) noexcept { current_ = t; }

  // While it lives, what is asked of the running thread is asked of another one.
  class as_if_running {
   public:
    as_if_running(thread_table& all, unsigned t) noexcept
        : all_(all), running_(std::exchange(all.current_, static_cast<thread_index>(t))) {}
    ~as_if_running() { all_.current_ = running_; }
    as_if_running(const as_if_running&) = delete;
    as_if_running& operator=(const as_if_running&) = delete;

   private:
    thread_table& all_;
    const thread_index running_;
  };

 private:
  std::array<thread, max_threads> all_;
  unsigned count_ = 0;
  thread_index current_ = 0;
};

}  // namespace syncopate::explored
