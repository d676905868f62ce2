// Marks of transactions: conflicts, overflow, what stays in the caches afterwards.
#include "memory_fixture.h"

namespace syncopate::simulated {
namespace {

using outcome = memory_system::outcome;

TEST_F(MemoryTest, WritingAReadLineConflicts) {
  read(0, 100, 0);
  EXPECT_TRUE(memory->mark(0, 100, use::read));
  EXPECT_FALSE(memory->mark(0, 100, use::read));  // has it already
  read(1, 100, 1000);
  EXPECT_TRUE(events.conflicts.empty());
  write(1, 100, 2000);
  EXPECT_EQ(events.conflicts, (std::vector<told>{{0, 100, 1}}));
  EXPECT_EQ(events.conflict_uses, (std::vector<use>{use::read}));
}

TEST_F(MemoryTest, ReadingAWrittenLineConflicts) {
  write(0, 100, 0);
  memory->mark(0, 100, use::write);
  read(8, 100, 1000);
  EXPECT_EQ(events.conflicts, (std::vector<told>{{0, 100, 8}}));
  EXPECT_EQ(events.conflict_uses, (std::vector<use>{use::write}));
}

TEST_F(MemoryTest, NoConflictAfterTheEnd) {
  write(0, 100, 0);
  memory->mark(0, 100, use::write);
  memory->end_speculation(0, outcome::committed);
  EXPECT_FALSE(memory->marked(0, 100, use::write));
  EXPECT_TRUE(memory->in_l1(0, 100));
  read(1, 100, 1000);
  EXPECT_TRUE(events.conflicts.empty());
}

TEST_F(MemoryTest, AbortDropsWrittenLinesAndKeepsReadOnes) {
  read(0, 100, 0);
  memory->mark(0, 100, use::read);
  write(0, 101, 1000);
  memory->mark(0, 101, use::write);
  memory->end_speculation(0, outcome::aborted);
  EXPECT_EQ(read(0, 100, 2000), 2002u);
  EXPECT_FALSE(memory->in_l1(0, 101));
  EXPECT_EQ(read(0, 101, 3000), 3010u);  // the L2 has it: what speculation brought is near
  EXPECT_EQ(write(0, 101, 4000), 4001u);
}

TEST_F(MemoryTest, EvictionOfAWrittenLineOverflows) {
  for (const line what : {0, 8, 16}) {  // one more than the L1's ways
    write(0, what, what * 1000);
    memory->mark(0, what, use::write);
  }
  EXPECT_EQ(events.overflows, (std::vector<told>{{0, 0, 0}}));
}

TEST_F(MemoryTest, WrittenLinesMayLeaveTheL1OfAMachineWithAStoreCache) {
  machine.htm.write_in_l1 = false;
  rebuild();
  for (const line what : {0, 8, 16}) {
    write(0, what, what * 1000);
    memory->mark(0, what, use::write);
  }
  EXPECT_TRUE(events.overflows.empty());
  EXPECT_TRUE(memory->marked(0, 0, use::write));
  read(1, 0, 100'000);
  EXPECT_EQ(events.conflicts, (std::vector<told>{{0, 0, 1}}));
}

TEST_F(MemoryTest, AndEvenAllPrivateCaches) {
  machine.htm.write_in_l1 = false;
  rebuild();
  write(0, 0, 0);
  memory->mark(0, 0, use::write);
  for (line what = 32; what < 6 * 32; what += 32) read(0, what, what * 1000);
  EXPECT_FALSE(memory->holds(0, 0));
  read(8, 0, 1'000'000);
  EXPECT_EQ(events.conflicts, (std::vector<told>{{0, 0, 8}}));
}

TEST_F(MemoryTest, ReadLinesConflictEvenWhenTheyLeftAllPrivateCaches) {
  read(0, 0, 0);
  memory->mark(0, 0, use::read);
  for (line what = 32; what < 6 * 32; what += 32) read(0, what, what * 1000);
  EXPECT_FALSE(memory->holds(0, 0));
  EXPECT_TRUE(memory->marked(0, 0, use::read));
  write(8, 0, 1'000'000);
  EXPECT_EQ(events.conflicts, (std::vector<told>{{0, 0, 8}}));
  EXPECT_EQ(events.conflict_uses, (std::vector<use>{use::read}));
}

TEST_F(MemoryTest, NobodyGetsExclusivelyWhatATransactionStillWatches) {
  read(0, 0, 0);
  memory->mark(0, 0, use::read);
  for (line what = 32; what < 6 * 32; what += 32) read(0, what, what * 1000);
  read(8, 0, 1'000'000);
  EXPECT_FALSE(memory->holds_exclusively(8, 0));
  memory->end_speculation(0, outcome::committed);
  memory->drop_private_lines(8);
  read(9, 0, 2'000'000);
  EXPECT_TRUE(memory->holds_exclusively(9, 0));
  EXPECT_TRUE(events.conflicts.empty());
}

TEST_F(MemoryTest, MarksComeBackWithTheLine) {
  read(0, 0, 0);
  memory->mark(0, 0, use::read);
  read(0, 8, 1000);
  read(0, 16, 2000);  // line 0 leaves the L1
  read(0, 0, 3000);
  EXPECT_FALSE(memory->mark(0, 0, use::read));
  write(1, 0, 4000);
  EXPECT_EQ(events.conflicts.size(), 1u);
}

TEST_F(MemoryTest, SiblingsConflictInTheirL1) {
  machine.topology.smt = 2;
  rebuild();
  read(0, 100, 0);
  memory->mark(0, 100, use::read);
  read(16, 100, 1000);
  EXPECT_TRUE(events.conflicts.empty());
  write(16, 100, 2000);  // a hit, in the exclusive line of the core
  EXPECT_EQ(events.conflicts, (std::vector<told>{{0, 100, 16}}));
  write(0, 101, 3000);
  memory->mark(0, 101, use::write);
  read(0, 101, 4000);  // its own
  EXPECT_EQ(events.conflicts.size(), 1u);
  read(16, 101, 5000);
  EXPECT_EQ(events.conflicts.size(), 2u);
}

TEST_F(MemoryTest, SiblingsHalveTheWriteCapacity) {
  machine.topology.smt = 2;
  rebuild();
  write(0, 0, 0);
  memory->mark(0, 0, use::write);
  read(16, 8, 1000);
  read(16, 16, 2000);
  EXPECT_EQ(events.overflows, (std::vector<told>{{0, 0, 0}}));
}

TEST_F(MemoryTest, CoresOfAModuleConflictInTheirL2) {
  machine.l2.shared_by = 2;
  rebuild();
  read(0, 0, 0);
  memory->mark(0, 0, use::read);
  read(0, 8, 1000);
  read(0, 16, 2000);  // the marked line leaves the L1, not the L2
  read(1, 0, 3000);
  EXPECT_TRUE(events.conflicts.empty());
  write(1, 0, 4000);
  EXPECT_EQ(events.conflicts, (std::vector<told>{{0, 0, 1}}));
}

// A listener that aborts at once, from inside the call, as the engine does.
class aborting : public recorder {
 public:
  void conflict(unsigned processor, line what, use marked, unsigned by) override {
    recorder::conflict(processor, what, marked, by);
    memory->end_speculation(processor, outcome::aborted);
  }
  memory_system* memory = nullptr;
};

TEST(MemorySpeculation, TransactionMayBeEndedFromTheConflict) {
  const description machine = round_machine();
  aborting events;
  memory_system memory(machine, events);
  events.memory = &memory;
  for (line what = 100; what < 104; ++what) {
    memory.access(0, what * 64, 8, use::write, what * 1000);
    memory.mark(0, what, use::write);
  }
  memory.access(1, 100 * 64, 8, use::read, 1'000'000);
  EXPECT_EQ(events.conflicts.size(), 1u);
  for (line what = 100; what < 104; ++what) EXPECT_FALSE(memory.in_l1(0, what));
  memory.access(1, 101 * 64, 8, use::read, 2'000'000);
  EXPECT_EQ(events.conflicts.size(), 1u);
}

}  // namespace
}  // namespace syncopate::simulated
