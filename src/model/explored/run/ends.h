// ends.h -- how an execution ends. Who finds that it does asks here, and does not come back.
#pragma once

#include "model/explored/report/verdict.h"

#include <cstdint>
#include <string>

namespace syncopate::explored {

enum class outcome : std::uint8_t { running, complete, redundant, cut, failed };

class ends {
 public:
  [[noreturn]] virtual void end_execution(outcome) = 0;
  // Says what is wrong, where, and where the other one was that makes it so.
  [[noreturn]] virtual void fail(failure_kind, std::string text, place where = nullptr,
                                 place other = nullptr, address object = 0) = 0;

 protected:
  ~ends() = default;
};

}  // namespace syncopate::explored
