// jobs.h -- several processes explore one search, and find what one would (jobs.cpp).
#pragma once

#include "findings.h"
#include "model/explored/memory/memory.h"
#include "model/explored/report/verdict.h"
#include "model/explored/search/assumptions.h"
#include "model/explored/search/search.h"
#include "options.h"
#include "surroundings.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace syncopate::explored {

class jobs {
 public:
  jobs(const options& o, search& s, memory& m, assumptions& assumed, verdict& found)
      : options_(o), search_(s), memory_(m), assumed_(assumed), verdict_(found) {}

  // Between two executions: gives a part of the search to a child, if one is free. Returns true in
  // the child, which then explores its part.
  bool split(const surroundings&);

  // To the next execution that is to be run here: is_here. failed: another process has found a
  // failure, by failed_schedule().
  enum class next : std::uint8_t { is_here, is_none, failed };
  next go_on();
  [[nodiscard]] const std::string& failed_schedule() const noexcept { return failed_schedule_; }

  void abandon();  // what others explore for this process
  [[nodiscard]] bool explores_part() const noexcept { return result_to_ >= 0; }
  // The end of a part's process.
  [[noreturn]] void hand_over(bool failed);

 private:
  struct part {  // the next alternative of a step, which another process explores
    std::uint32_t step;
    int process, result;  // the latter: a pipe's end
    explored::step at;    // as it is then
    assumptions::state assumed;
  };
  struct shared;  // by all processes
  enum class taken : std::uint8_t { none, over, failed };

  [[nodiscard]] bool may_split() const;
  [[nodiscard]] std::optional<std::uint32_t> step_to_give();
  bool give(std::uint32_t root, int slot, const surroundings&);
  void explore_part(std::uint32_t root, int slot, int result_to, const surroundings&);
  void abandon_from(std::uint32_t step);
  taken take_over();
  taken merge(const findings&);
  [[nodiscard]] findings found_here(bool failed) const;

  const options& options_;
  search& search_;
  memory& memory_;
  assumptions& assumed_;
  verdict& verdict_;
  std::vector<part> parts_;
  shared* shared_ = nullptr;
  int slot_ = -1;       // of this process
  int result_to_ = -1;  // this process explores a part
  std::size_t endless_given_ = 0;
  std::string failed_schedule_;
};

}  // namespace syncopate::explored
