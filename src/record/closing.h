// closing.h -- what a program unloads: its addresses are not used again while it is recorded, so
// that an address in a record is of one function and of one lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::record {

// Around a dlclose() of the program. Not async-signal-safe, as that is not.
class closing {
 public:
  closing() noexcept;   // before it
  ~closing() noexcept;  // after it
  closing(const closing&) = delete;
  closing& operator=(const closing&) = delete;

  struct range {
    std::uint64_t begin, end;
  };
  static constexpr std::size_t most = 4096;  // modules that are looked at

 private:
  range* before_ = nullptr;  // of the modules that were there, and room for as many again
  std::size_t count_ = 0;
  unsigned long long removed_ = 0;  // modules ever, before
};

}  // namespace syncopate::record
