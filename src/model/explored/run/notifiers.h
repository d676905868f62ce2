// notifiers.h -- which loads are libstdc++'s looks whether anybody waits at an atomic variable.
//
// std::atomic's notify_one and notify_all make no system call where a count of waiters is 0. GCC's
// read that count by seq_cst, which puts no weaker store of their caller before it in S: by the
// rules for accesses, the waiter could sleep for good. The language promises that it wakes, and
// what a library would have to do for that is no mistake of the program's.
#pragma once

#include "model/front/engine.h"
#include "model/front/names/names.h"

#include <algorithm>
#include <unordered_map>

namespace syncopate::explored {

class notifiers {
 public:
  [[nodiscard]] bool look_for_waiters(engine::place from) {
    const auto [known, is_new] = all_.try_emplace(from, false);
    if (is_new) {
      const auto frames = instrument::code_frames(from);
      known->second = std::any_of(frames.begin(), frames.end(), [](const auto& frame) {
        return frame.function.find("__waiter_pool_base::_M_waiting") != std::string::npos;
      });
    }
    return known->second;
  }

 private:
  std::unordered_map<engine::place, bool> all_;
};

}  // namespace syncopate::explored
