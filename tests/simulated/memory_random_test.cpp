// Random accesses of all processors, held against slow models: who holds a line according to the
// events told, which conflicts a transaction has to hear of, and the directory's invariants.
#include "memory_fixture.h"

#include <map>
#include <random>
#include <set>

namespace syncopate::simulated {

// The whole state of a memory system, for the invariants of directory.h and the inclusion of L1s.
class memory_inspector {
 public:
  explicit memory_inspector(memory_system& memory) : memory_(memory) {}

  void check(line what) {
    const unsigned shared_by = memory_.machine_.l2.shared_by;
    line_record* record = memory_.directory_.find(what);
    unsigned holders = 0;
    unsigned exclusive = 0;
    for (group g = 0; g < memory_.l2s_.size(); ++g) {
      const tag* below = memory_.l2s_[g].find(what);
      if (below) {
        ++holders;
        exclusive += (*below & tags::exclusive) != 0;
        ASSERT_NE(record, nullptr);
        EXPECT_TRUE(memory_.directory_.sharers(*record).contains(g)) << "D1";
        EXPECT_EQ(record->owner == g, (*below & tags::exclusive) != 0) << "D2";
      } else if (record) {
        EXPECT_NE(record->owner, g) << "D2";
        EXPECT_EQ(memory_.directory_.sharers(*record).contains(g),
                  memory_.group_has_spilled(g, what))
            << "D1";
      }
      check_l1s(g, shared_by, what, below);
    }
    EXPECT_LE(exclusive, 1u);
    EXPECT_TRUE(exclusive == 0 || holders == 1) << "a single writer";
    for (unsigned llc = 0; record && llc < memory_.llcs_.size(); ++llc)
      EXPECT_TRUE((record->llc >> llc & 1) == 0 || memory_.llcs_[llc].find(what)) << "D3";
  }

 private:
  void check_l1s(group g, unsigned shared_by, line what, const tag* below) {
    unsigned copies = 0;
    unsigned writable = 0;
    for (unsigned core = g * shared_by; core < (g + 1) * shared_by; ++core) {
      const tag* copy = memory_.cores_[core].l1.find(what);
      const bool known = below && (*below & memory_.copy_bit(core));
      EXPECT_EQ(copy != nullptr, known) << "the L2 knows its L1s' lines";
      copies += copy != nullptr;
      writable += copy && (*copy & tags::exclusive);
      EXPECT_TRUE(!copy || !(*copy & tags::exclusive) || (*below & tags::exclusive));
    }
    EXPECT_TRUE(writable == 0 || copies == 1) << "a single writer among the L1s";
  }

  memory_system& memory_;
};

namespace {

struct setting {
  unsigned l2_shared_by;
  unsigned smt;
  bool write_in_l1;
  bool speculation;
  bool migratory;
  bool owned = false;  // and asks all before it writes to what others share

  // Tests are named by it.
  friend void PrintTo(const setting& one, std::ostream* out) {
    *out << one.l2_shared_by << " cores per L2, smt " << one.smt
         << (one.write_in_l1 ? "" : ", store cache") << (one.speculation ? ", speculation" : "")
         << (one.migratory ? ", migratory" : "") << (one.owned ? ", owned" : "");
  }
};

// What the engine would believe from the events alone.
class believer : public memory_listener {
 public:
  void invalidated(unsigned core, line what, unsigned by) override {
    EXPECT_NE(core, machine->core_of(by));
    EXPECT_EQ(holders[what].erase(core), 1u) << "invalidated without a copy";
  }
  void downgraded(unsigned core, line what, unsigned) override {
    EXPECT_TRUE(holders[what].contains(core)) << "downgraded without a copy";
  }
  void evicted(unsigned core, line what, int level) override {
    EXPECT_TRUE(holders[what].contains(core)) << "evicted without a copy";
    if (level == 2 || machine->l2.shared_by > 1) holders[what].erase(core);
  }
  void conflict(unsigned processor, line what, use, unsigned) override {
    conflicts.emplace(processor, what);
    abort(processor);
  }
  void overflow(unsigned processor, line what) override {
    EXPECT_TRUE(written[what].contains(processor));
    abort(processor);
  }
  void abort(unsigned processor) {
    // Lines written in the transaction leave the L1, unreported: it is the engine who asks.
    const unsigned core = machine->core_of(processor);
    std::vector<line> dropped;
    for (auto& [what, by] : written)
      if (by.erase(processor) && memory->in_l1(core, what)) dropped.push_back(what);
    for (auto& [what, by] : seen) by.erase(processor);
    memory->end_speculation(processor, memory_system::outcome::aborted);
    for (const line what : dropped)
      if (machine->l2.shared_by > 1 && !memory->in_l1(core, what)) holders[what].erase(core);
  }

  const description* machine = nullptr;
  memory_system* memory = nullptr;
  std::map<line, std::set<unsigned>> holders;        // cores
  std::map<line, std::set<unsigned>> seen, written;  // processors with marks
  std::set<std::pair<unsigned, line>> conflicts;
};

class RandomMemoryTest : public testing::TestWithParam<setting> {
 protected:
  description small_machine() const {
    description machine = round_machine();
    machine.l1 = {256, 2, 64, 2, 1};  // tiny: everything is evicted all the time
    machine.l2 = {1024, 4, 64, 10, GetParam().l2_shared_by};
    machine.llc = {2048, 4, 64, 40, 8};
    machine.topology.smt = GetParam().smt;
    machine.htm.write_in_l1 = GetParam().write_in_l1;
    machine.coherence.migratory = GetParam().migratory;
    machine.coherence.owned = machine.coherence.broadcast = GetParam().owned;
    return machine;
  }
};

TEST_P(RandomMemoryTest, StateAgreesWithTheModels) {
  const description machine = small_machine();
  believer model;
  memory_system memory(machine, model);
  model.machine = &machine;
  model.memory = &memory;
  memory_inspector inspector(memory);
  constexpr line lines = 40;
  const unsigned seed = 20240817;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<cycles> clocks(machine.processors());

  for (int step = 0; step < 20000 && !HasFailure(); ++step) {
    const unsigned processor = random() % machine.processors();
    const unsigned core = machine.core_of(processor);
    const line what = random() % 8 ? random() % lines : random() % 4;
    const use how = static_cast<use>(random() % 3);

    std::set<std::pair<unsigned, line>> expected;
    for (const unsigned other : model.written[what])
      if (other != processor) expected.emplace(other, what);
    if (how != use::read)
      for (const unsigned other : model.seen[what])
        if (other != processor) expected.emplace(other, what);
    model.conflicts.clear();
    model.holders[what].insert(core);

    const cycles before = clocks[processor];
    const cycles after = memory.access(processor, what * 64 + random() % 8 * 8, 8, how, before);
    clocks[processor] = after + random() % 50;
    EXPECT_GT(after, before);
    EXPECT_EQ(model.conflicts, expected);
    if (how != use::read) {
      EXPECT_EQ(model.holders[what], (std::set<unsigned>{core}));
      EXPECT_TRUE(memory.holds_exclusively(core, what));
    }

    if (GetParam().speculation && processor % 2 == 0) {
      if (random() % 16 == 0) {
        memory.end_speculation(processor, memory_system::outcome::committed);
        for (auto& [any, by] : model.seen) by.erase(processor);
        for (auto& [any, by] : model.written) by.erase(processor);
      } else {
        const use marked = how == use::read ? use::read : use::write;
        auto& marks = how == use::read ? model.seen : model.written;
        EXPECT_EQ(memory.mark(processor, what, marked), marks[what].insert(processor).second);
      }
    }
    inspector.check(what);
    if (step % 500 != 0) continue;
    for (line any = 0; any < lines; ++any) {
      inspector.check(any);
      for (unsigned one = 0; one < machine.topology.cores; ++one)
        EXPECT_EQ(memory.holds(one, any), model.holders[any].contains(one));
      for (unsigned one = 0; one < machine.processors(); ++one) {
        EXPECT_EQ(memory.marked(one, any, use::read), model.seen[any].contains(one));
        EXPECT_EQ(memory.marked(one, any, use::write), model.written[any].contains(one));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, RandomMemoryTest,
    testing::Values(setting{1, 1, true, false, false}, setting{1, 2, true, true, false},
                    setting{1, 1, false, true, false}, setting{2, 1, true, false, false},
                    setting{2, 1, true, true, false}, setting{2, 2, false, true, false},
                    setting{1, 1, true, false, true}, setting{1, 2, true, true, true},
                    setting{2, 2, false, true, true},
                    setting{.l2_shared_by = 1,
                            .smt = 2,
                            .write_in_l1 = true,
                            .speculation = true,
                            .migratory = false,
                            .owned = true},
                    setting{.l2_shared_by = 2,
                            .smt = 1,
                            .write_in_l1 = false,
                            .speculation = true,
                            .migratory = false,
                            .owned = true}));

// Calls and machine decide everything: two systems give the same answers.
TEST_P(RandomMemoryTest, SameCallsGiveTheSameTimes) {
  const description machine = small_machine();
  recorder first_events, second_events;
  memory_system first(machine, first_events);
  memory_system second(machine, second_events);
  std::mt19937 random(7);
  for (int step = 0; step < 5000; ++step) {
    const unsigned processor = random() % machine.processors();
    const std::uintptr_t at = random() % 4096;
    const use how = static_cast<use>(random() % 3);
    const cycles now = static_cast<cycles>(step) * 30;
    ASSERT_EQ(first.access(processor, at, 4, how, now), second.access(processor, at, 4, how, now));
  }
  EXPECT_EQ(first_events.evictions, second_events.evictions);
  EXPECT_EQ(first_events.invalidations, second_events.invalidations);
}

}  // namespace
}  // namespace syncopate::simulated
