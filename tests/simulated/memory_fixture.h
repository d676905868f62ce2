// memory_fixture.h -- a machine with round numbers, whose cycles can be worked out by hand.
#pragma once

#include "model/simulated/memory/memory_system.h"

#include <gtest/gtest.h>

#include <optional>
#include <tuple>
#include <vector>

namespace syncopate::simulated {

// 2 sockets, 4 nodes, 16 cores in clusters of 2:
//   cluster {0,1} {2,3} ...   node 0: 0-3, 1: 4-7   socket 0: 0-7, 1: 8-15
// L1 2 cycles, L2 10, LLC (per socket) 40; transfers 50 / 80 / 100 / 200; DRAM 300 / 500, a line
// leaves a node's memory every 10 cycles; 5 per invalidated sharer; a read keeps a line for 20.
inline description round_machine() {
  description made{};
  made.name = "round";
  made.topology = {2, 4, 16, 2, 1, 1'000'000'000};
  made.core = {1, 10, 1, 4, 0.5};
  made.l1 = {1024, 2, 64, 2, 1};     // 8 sets of 2
  made.l2 = {8192, 4, 64, 10, 1};    // 32 sets of 4
  made.llc = {65536, 8, 64, 40, 8};  // 128 sets of 8
  made.coherence = {50, 80, 100, 200, {}, 0, 5, 20, false, false, false, 0, 0};
  made.atomic = {10, 20, true};
  made.dram = {300, 500, 6'400'000'000};
  made.htm.present = true;
  made.htm.write_in_l1 = true;
  return made;
}

// Writes down what it is told.
class recorder : public memory_listener {
 public:
  using told = std::tuple<unsigned, line, unsigned>;  // whom, what, by (or level)

  void invalidated(unsigned core, line what, unsigned by) override {
    invalidations.emplace_back(core, what, by);
  }
  void downgraded(unsigned core, line what, unsigned by) override {
    downgrades.emplace_back(core, what, by);
  }
  void evicted(unsigned core, line what, int level) override {
    evictions.emplace_back(core, what, static_cast<unsigned>(level));
  }
  void conflict(unsigned processor, line what, use marked, unsigned by) override {
    conflicts.emplace_back(processor, what, by);
    conflict_uses.push_back(marked);
  }
  void overflow(unsigned processor, line what) override {
    overflows.emplace_back(processor, what, 0);
  }

  std::vector<told> invalidations, downgrades, evictions, conflicts, overflows;
  std::vector<use> conflict_uses;
};

class MemoryTest : public testing::Test {
 protected:
  using told = recorder::told;

  // Replaces the machine by a changed one.
  void rebuild() { memory.emplace(machine, events); }

  static std::uintptr_t address(line what) { return what * 64; }
  cycles read(unsigned processor, line what, cycles now) {
    return memory->access(processor, address(what), 8, use::read, now);
  }
  cycles write(unsigned processor, line what, cycles now) {
    return memory->access(processor, address(what), 8, use::write, now);
  }
  cycles modify(unsigned processor, line what, cycles now) {
    return memory->access(processor, address(what), 8, use::modify, now);
  }

  description machine = round_machine();
  recorder events;
  std::optional<memory_system> memory{std::in_place, machine, events};
};

}  // namespace syncopate::simulated
