// transaction.h -- the hardware transaction of one thread: the state, without the rules.
#pragma once

#include "model/simulated/memory/memory.h"
#include "model/simulated/report/statistics.h"

#include <syncopate/machine/types.h>

#include <cstdint>
#include <vector>

#include "model/front/engine.h"
#include "model/front/threads/fiber.h"

namespace syncopate::simulated {

// Old contents of memory, to be put back last first.
class undo_log {
 public:
  struct entry {
    std::uintptr_t at;
    std::size_t bytes, offset;
  };

  void note(std::uintptr_t at, std::size_t bytes);  // if reading there faults, nothing is noted
  // Puts back what is not in [skip_low, skip_high), and forgets all but the rest.
  void apply(std::uintptr_t skip_low, std::uintptr_t skip_high);
  // Puts back the rest's part of [at, at + bytes) in a copy of these bytes.
  void apply_to_copy(std::uintptr_t at, std::size_t bytes, unsigned char* copy) const;
  void clear() noexcept {
    entries_.clear();
    old_.clear();
  }

 private:
  std::vector<entry> entries_;
  std::vector<unsigned char> old_;
};

struct transaction {
  unsigned depth = 0;             // 0: none; nested ones are part of the outermost
  bool doomed = false;            // memory is rolled back already; registers and stack are not
  volatile bool touches = false;  // see touching_memory
  machine::htm::mode mode{};
  engine::place began_at = nullptr;
  cycles began = 0;
  cycles interrupt_at = 0;
  std::size_t read_lines = 0, written_lines = 0;
  std::uintptr_t frame = 0;      // of begin: the stack copy holds everything from here up
  std::uintptr_t suspended = 0;  // everything below is in use by the suspended fiber
  machine::htm::status result;   // of begin's second return
  instrument::stack_copy* copy = nullptr;
  undo_log undo;
  // Writes of other threads to this one's stack: younger than the copy, so restoring keeps them.
  std::vector<undo_log::entry> foreign;
  std::vector<unsigned char> foreign_bytes;
};

}  // namespace syncopate::simulated
