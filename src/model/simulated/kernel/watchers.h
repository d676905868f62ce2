// watchers.h -- threads that poll a word: they sleep, at no cost to the simulation, until some
// processor writes the word's cache line.
//
// A poll that finds the line unchanged costs a hit and changes nothing, so only those after a write
// are simulated. A thread polls at a fixed period from its last look on; after a write it looks
// again at the first of these times, at the memory system's price: all pollers of a line then
// queue for it, as on hardware. Every request for ownership counts as a write, a compare-exchange
// that fails, too: it takes the pollers' copies away.
//
// Memory order (each tag stands at its site below)
//   [W]  relaxed: one thread runs the model and the program; code that no compiler prepared may
//        write in between, and is seen at the next look.
#pragma once

#include "model/simulated/memory/memory.h"
#include "thread.h"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace syncopate::simulated {

struct world;

class watchers {
 public:
  explicit watchers(world& w) : world_(w) {}

  // The running thread waits as its poll_state says, whose first look was in vain. Returns with
  // poll.satisfied: whether it holds, or the time is up.
  void wait(thread& me, engine::place where);

  // When the next look can take place (memory_system::turn).
  cycles turn(thread&);
  // One look. Returns: whether the wait is over, else the thread watches again.
  bool look(thread&);

  // A processor takes the line of `at` for writing, for thread `by`.
  void written(line what, const thread& by, cycles at) {
    if (counts_[slot(what)] != 0) [[unlikely]]
      wake_all(what, by, at);
  }

  void remove(thread&);  // if it is on a list

  // Nothing else can happen any more. Lets those look again whose word has changed unseen (by code
  // that is not instrumented), or whose loop may have a bound. Returns: whether there were any.
  bool wake_missed();
  // The same of what another process has written; loops have no chance then.
  void wake_changed(cycles at);

 private:
  static constexpr unsigned slots = 4096;
  static unsigned slot(line what) noexcept {
    return static_cast<unsigned>(what ^ what >> 12) % slots;
  }
  void wake_all(line, const thread& by, cycles at);
  void wake(thread&, cycles at);
  void add(thread&);
  [[nodiscard]] bool holds(const thread&, std::uint64_t value) const;

  world& world_;
  std::array<std::uint16_t, slots> counts_{};             // of watching threads, by line
  std::unordered_map<line, std::vector<thread*>> lists_;  // never iterated: its order is chance
  std::vector<thread*> woken_;
};

// The word's value as the program would read it; atomically, since uninstrumented code may write.
std::uint64_t read_word(engine::address at, unsigned bytes) noexcept;

}  // namespace syncopate::simulated
