// The small parts by themselves: hash map, cache, set of groups, energy.
#include "memory_fixture.h"
#include "model/simulated/memory/flat_map.h"
#include "model/simulated/report/energy.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace syncopate::simulated {
namespace {

TEST(FlatMap, AgreesWithAnOrdinaryMap) {
  flat_map<unsigned> tested;
  std::map<std::uint64_t, unsigned> model;
  std::mt19937 random(3);
  for (unsigned step = 0; step < 20000; ++step) {
    const std::uint64_t key = random() % 300 * (random() % 2 ? 1 : std::uint64_t{1} << 32);
    if (random() % 2) {
      EXPECT_EQ(tested.erase(key), model.erase(key) == 1);
    } else {
      tested[key] = step;
      model[key] = step;
    }
    ASSERT_EQ(tested.size(), model.size());
    const std::uint64_t any = random() % 300;
    ASSERT_EQ(tested.find(any) != nullptr, model.contains(any));
  }
  for (const auto& [key, value] : model) EXPECT_EQ(*tested.find(key), value);
}

TEST(Cache, SetsNeedNotBeAPowerOfTwo) {
  cache tested(3, 2);
  EXPECT_EQ(tested.insert(tags::make(0, 0)), 0u);
  EXPECT_EQ(tested.insert(tags::make(3, 0)), 0u);
  EXPECT_EQ(tested.insert(tags::make(4, 0)), 0u);  // another set
  EXPECT_EQ(tags::line_of(tested.insert(tags::make(6, 0))), 0u);
  EXPECT_EQ(tested.find(0), nullptr);
  EXPECT_NE(tested.find(3), nullptr);
}

TEST(Cache, ErasedEntriesAreFilledFirst) {
  cache tested(1, 3);
  for (const line what : {1, 2, 3}) tested.insert(tags::make(what, 0));
  tested.erase(tested.find(2));
  EXPECT_EQ(tested.insert(tags::make(4, 0)), 0u);
  EXPECT_EQ(tags::line_of(tested.insert(tags::make(5, 0))), 1u);
}

// Against the definition, on machines with several of each level.
TEST(Interconnect, TheNearestHolderIsOneAtTheLeastDistance) {
  for (const char* name : {"opteron-6272", "sapphire-rapids-2s", "epyc-9754-2s"}) {
    const description machine =
        read_description(SYNCOPATE_SOURCE_MACHINES "/" + std::string(name) + ".toml");
    const interconnect tested(machine);
    const unsigned groups = machine.topology.cores / machine.l2.shared_by;
    const unsigned llcs = machine.topology.cores / machine.llc.shared_by;
    std::mt19937 random(5);
    for (unsigned round = 0; round < 500; ++round) {
      std::vector<std::uint64_t> words((groups + 63) / 64);
      group_set holders(words.data(), static_cast<unsigned>(words.size()));
      const group to = random() % groups;
      route nearest{~cycles{0}, distance::remote};
      for (unsigned n = random() % 3 + 1; n != 0; --n) {
        const group one = (to + 1 + random() % (groups - 1)) % groups;
        holders.add(one);
        const route from = tested.between(one, to);
        if (std::tie(from.far, from.latency) < std::tie(nearest.far, nearest.latency))
          nearest = from;
      }
      const route found = tested.nearest(holders, to);
      EXPECT_EQ(found.latency, nearest.latency);
      EXPECT_EQ(found.far, nearest.far);

      const std::uint64_t having = random() & ((std::uint64_t{1} << llcs) - 1);
      cycles least = ~cycles{0};
      for (unsigned llc = 0; llc < llcs; ++llc)
        if (having >> llc & 1)
          least = std::min(least, tested.between(llc * (groups / llcs), to).latency);
      EXPECT_EQ(tested.nearest_llc(having, to).latency, least);
    }
  }
}

TEST(GroupSet, FindsMembersInRangesAcrossWords) {
  std::uint64_t words[8] = {};
  group_set set(words, 8);
  for (const group g : {3u, 64u, 511u}) set.add(g);
  EXPECT_TRUE(set.any_in(0, 4));
  EXPECT_FALSE(set.any_in(4, 64));
  EXPECT_TRUE(set.any_in(4, 65));
  EXPECT_FALSE(set.any_in(65, 511));
  EXPECT_TRUE(set.any_in(65, 512));
  EXPECT_FALSE(set.any_in(5, 5));
  std::vector<group> members;
  set.for_each([&](group g) { members.push_back(g); });
  EXPECT_EQ(members, (std::vector<group>{3, 64, 511}));
}

TEST(Energy, AddsUpStatesTransfersAndTheRest) {
  description machine = round_machine();
  machine.topology.smt = 2;
  machine.energy = {10, 8, 4, 1, 2, 0.5, 5, 1e-3, 1e-2, 1e-1};
  energy_meter meter(machine);
  const cycles second = machine.topology.frequency_hz;
  meter.enter(0, power::running, 0);
  meter.enter(0, power::idle, 2 * second);
  meter.enter(16, power::monitor_deep, 2 * second);  // core 0's sibling: idle costs more
  meter.enter(0, power::monitor_deep, 3 * second);
  meter.enter(1, power::spinning, 3 * second);
  access_totals moved;
  moved.transfers = {1, 2, 3, 4};
  moved.llc_hits = 4;
  moved.dram_local = 1;
  moved.dram_remote = 2;
  const energy_statistics used = meter.until(4 * second, moved);
  EXPECT_DOUBLE_EQ(used.processors, 2 * 10.0 + 2.0 + 1.0 + 3 * 0.5 + 8.0 + 14 * 4 * 0.5);
  EXPECT_DOUBLE_EQ(used.transfers, 10 * 1e-3 + 4 * 1e-2 + 3 * 1e-1);
  EXPECT_DOUBLE_EQ(used.base, 20.0);
  EXPECT_DOUBLE_EQ(used.joules, used.processors + used.transfers + used.base);
}

TEST(ManyProcessors, ExactSharersUpToFiveHundredCores) {
  description machine = round_machine();
  machine.topology = {2, 2, 512, 8, 1, 1'000'000'000};
  machine.llc.shared_by = 8;
  recorder events;
  memory_system memory(machine, events);
  for (unsigned core = 0; core < 512; ++core)
    memory.access(core, 0x1000, 8, use::read, core * 1000);
  EXPECT_EQ(memory.access(511, 0x1000, 8, use::modify, 1'000'000), 1'000'000u + 200 + 511 * 5 + 10);
  EXPECT_EQ(events.invalidations.size(), 511u);
  for (unsigned core = 0; core < 511; ++core) EXPECT_FALSE(memory.holds(core, 0x1000 / 64));
}

}  // namespace
}  // namespace syncopate::simulated
