// actions.h -- what the program asked to be called when a transaction commits or rolls back.
#pragma once

#include "tm/logs/buffer.h"

namespace syncopate::tm {

struct action {
  void (*function)(void*);
  void* argument;
};

class actions : public buffer<action> {
 public:
  [[nodiscard]] bool add(void (*function)(void*), void* argument) noexcept {
    action* const entry = push();
    if (entry == nullptr) return false;
    *entry = {function, argument};
    return true;
  }

  // Calls all but the first `kept`, newest first.
  void run_backwards(std::size_t kept) {
    while (size() > kept) {
      const action a = back();
      pop();
      a.function(a.argument);
    }
  }
};

}  // namespace syncopate::tm
