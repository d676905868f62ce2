// ends.h -- how an execution ends. Who finds that it does asks here, and does not come back.
#pragma once

#include "model/explored/report/verdict.h"

#include <cstdint>
#include <string>
#include <utility>

namespace syncopate::explored {

enum class outcome : std::uint8_t { running, complete, redundant, cut, failed };

class ends {
 public:
  [[noreturn]] void end_execution(outcome how) {
    end_now(how);
    __builtin_unreachable();  // of a virtual function the compiler does not know it
  }
  // Says what is wrong, where, and where the other one was that makes it so.
  [[noreturn]] void fail(failure_kind kind, std::string text, place where = nullptr,
                         place other = nullptr, address object = 0) {
    fail_now(kind, std::move(text), where, other, object);
    __builtin_unreachable();
  }

 protected:
  ~ends() = default;

 private:
  virtual void end_now(outcome) = 0;
  virtual void fail_now(failure_kind, std::string text, place where, place other,
                        address object) = 0;
};

}  // namespace syncopate::explored
