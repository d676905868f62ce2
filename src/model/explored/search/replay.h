// replay.h -- a schedule that is repeated: whose turn it is, and what that thread chooses.
#pragma once

#include "model/explored/report/verdict.h"
#include "trace.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::explored {

class replay {
 public:
  [[nodiscard]] bool is_on() const noexcept { return !tokens_.empty(); }
  void read(const std::string& schedule) { read_schedule(schedule, tokens_); }
  void clear() noexcept { tokens_.clear(); }

  // An execution begins.
  void restart() noexcept {
    at_ = 0;
    left_ = is_on() ? tokens_[0].count : 0;
  }

  // To the next step. False: the schedule has no more.
  [[nodiscard]] bool advance() noexcept {
    if (left_ == 0 && ++at_ < tokens_.size()) left_ = tokens_[at_].count;
    if (at_ >= tokens_.size()) return false;
    --left_;
    return true;
  }
  // This step. Requires: advance() has returned true.
  [[nodiscard]] const schedule_token& now() const noexcept { return tokens_[at_]; }

  [[nodiscard]] bool is_over() const noexcept { return left_ == 0 && at_ + 1 >= tokens_.size(); }

  // Whether the next step was made since nothing else could run. Here something could, it may seem:
  // the search knew by then which loops are endless.
  [[nodiscard]] bool is_next_forced() const noexcept {
    const std::size_t next = at_ + (left_ == 0 ? 1 : 0);
    return next < tokens_.size() && tokens_[next].chosen > only;
  }

 private:
  std::vector<schedule_token> tokens_;
  std::size_t at_ = 0;
  std::uint32_t left_ = 0;  // steps of this token
};

}  // namespace syncopate::explored
