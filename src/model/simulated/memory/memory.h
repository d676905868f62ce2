// memory.h -- the memory system of the simulated machine, as the rest of the engine sees it.
//
// Knows caches, the coherence directory, interconnect, DRAM and their costs. Knows nothing of
// threads, fibers, locks, transactions or time beyond the cycle numbers it is given. Processors are
// hardware threads: 0 <= processor < description.processors(); SMT siblings share a core's caches.
#pragma once

#include "model/simulated/description/description.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace syncopate::simulated {

using cycles = std::uint64_t;
using line = std::uint64_t;  // address / line size

enum class use : unsigned char { read, write, modify };  // modify: an atomic read-modify-write

// What the memory system tells the engine before access() returns, once its own state is
// consistent again: first the moves, then conflicts and overflows. A listener may call
// end_speculation() and the queries, but not access().
class memory_listener {
 public:
  virtual ~memory_listener() = default;
  // Whether it wants to be told the moves. The same every time.
  virtual bool wants_moves() const { return true; }
  // `core` no longer has the line because processor `by` took it for writing.
  virtual void invalidated(unsigned core, line what, unsigned by) = 0;
  // `core` lost its exclusive copy to a reader; it keeps a shared one.
  virtual void downgraded(unsigned core, line what, unsigned by) = 0;
  // `core` dropped the line from its L1 (level 1) or its last private level (level 2), for want
  // of room.
  virtual void evicted(unsigned core, line what, int level) = 0;
  // Processor `by` read a line that `processor` had marked as written, or wrote one that it had
  // marked at all: `processor` has to abort. Also between siblings of a core.
  virtual void conflict(unsigned processor, line what, use marked, unsigned by) = 0;
  // A line that `processor` had marked as written left its L1, and the machine keeps such lines
  // nowhere else (htm.write_in_l1): `processor` has to abort.
  virtual void overflow(unsigned processor, line what) = 0;
};

class memory_system;  // memory_system.h

}  // namespace syncopate::simulated
