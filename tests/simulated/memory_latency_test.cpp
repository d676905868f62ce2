// Cycles of single accesses, worked out by hand from the fixture's round numbers.
#include "memory_fixture.h"

#include <algorithm>

namespace syncopate::simulated {
namespace {

TEST_F(MemoryTest, FirstReadComesFromLocalMemoryThenHits) {
  EXPECT_EQ(read(0, 100, 0), 300u);
  EXPECT_EQ(read(0, 100, 300), 302u);
  EXPECT_EQ(memory->totals(0).dram_local, 1u);
  EXPECT_EQ(memory->totals(0).accesses, 2u);
  EXPECT_EQ(memory->totals(0).l1_misses, 1u);
}

TEST_F(MemoryTest, MemoryBelongsToTheNodeThatTouchedThePageFirst) {
  EXPECT_EQ(read(0, 64, 0), 300u);      // page 1, now of node 0
  EXPECT_EQ(read(4, 65, 1000), 1500u);  // node 1 reads another line of the page
  EXPECT_EQ(memory->totals(4).dram_remote, 1u);
}

TEST_F(MemoryTest, SoleReaderMayWriteWithoutAsking) {
  read(0, 100, 0);
  EXPECT_TRUE(memory->holds_exclusively(0, 100));
  EXPECT_EQ(write(0, 100, 300), 301u);
  EXPECT_EQ(memory->drained_at(0), 0u);  // it never had to wait in the store buffer
  EXPECT_EQ(modify(0, 100, 400), 412u);  // L1 2 + RMW 10
}

TEST_F(MemoryTest, TransferLatencyGrowsWithDistance) {
  const struct {
    unsigned reader;
    cycles latency;
    distance far;
  } cases[] = {{1, 50, distance::cluster},
               {2, 80, distance::node},
               {4, 100, distance::socket},
               {8, 200, distance::remote}};
  line what = 1000;
  for (const auto& one : cases) {
    const cycles owned = modify(0, what, 0) + 1000;
    EXPECT_EQ(read(one.reader, what, owned), owned + one.latency);
    EXPECT_EQ(memory->totals(one.reader).transfers[static_cast<unsigned>(one.far)], 1u);
    EXPECT_FALSE(memory->holds_exclusively(0, what));
    EXPECT_TRUE(memory->holds(0, what));
    ++what;
  }
}

TEST_F(MemoryTest, HopsBeyondTheFirstCostExtra) {
  machine.topology.sockets = 4;  // of 4 cores
  machine.llc.shared_by = 4;
  machine.coherence.hops = {{0, 1, 2, 1}, {1, 0, 1, 2}, {2, 1, 0, 1}, {1, 2, 1, 0}};
  machine.coherence.extra_hop = 70;
  rebuild();
  modify(0, 100, 0);
  EXPECT_EQ(read(4, 100, 1000), 1200u);
  modify(0, 101, 2000);
  EXPECT_EQ(read(8, 101, 3000), 3270u);
  EXPECT_EQ(read(8, 102, 4000), 4570u);  // same page, so memory two hops away: 500 + 70
}

TEST_F(MemoryTest, HopsCanBeThoseBetweenNodes) {
  machine.coherence.hops = {{0, 1, 1, 2}, {1, 0, 2, 1}, {1, 2, 0, 1}, {2, 1, 1, 0}};
  machine.coherence.extra_hop = 70;
  rebuild();
  modify(0, 100, 0);
  EXPECT_EQ(read(4, 100, 1000), 1100u);  // the socket's other node
  modify(0, 101, 2000);
  EXPECT_EQ(read(8, 101, 3000), 3200u);  // another socket, one hop away
  modify(0, 102, 4000);
  EXPECT_EQ(read(12, 102, 5000), 5270u);  // its other node is two away
  EXPECT_EQ(read(12, 103, 6000), 6570u);  // as is the memory of node 0
}

TEST_F(MemoryTest, WriteToASharedLineWaitsForTheFarthestCoreWhereAllAreAsked) {
  machine.coherence.broadcast = true;
  rebuild();
  modify(0, 100, 0);
  EXPECT_EQ(modify(1, 100, 1000), 1060u);  // an owner is asked alone
  read(2, 100, 2000);
  EXPECT_EQ(modify(3, 100, 3000), 3210u);  // 1 and 2 share it: 200 to the other socket, and rmw
  read(2, 100, 4000);
  EXPECT_EQ(modify(2, 100, 5000), 5210u);  // the same of one that has it, however many others do
  read(0, 101, 6000);
  EXPECT_EQ(modify(0, 101, 7000), 7012u);  // alone it has nobody to ask
}

TEST_F(MemoryTest, OwnerKeepsWhatOthersRead) {
  machine.coherence.owned = true;
  rebuild();
  modify(0, 100, 0);
  EXPECT_EQ(read(2, 100, 1000), 1080u);  // from 0, in another cluster
  EXPECT_EQ(read(4, 100, 2000), 2100u);  // from 0 or 2: it is in no LLC
  EXPECT_EQ(read(5, 100, 3000), 3050u);  // from 4, its neighbor
  EXPECT_EQ(memory->totals().llc_hits, 0u);
  for (line other = 1; other <= 4; ++other) read(4, 100 + 32 * other, 4000 + other);  // drops it
  EXPECT_FALSE(memory->holds(4, 100));
  EXPECT_EQ(read(6, 100, 9000), 9040u);  // what an L2 drops is in the LLC
}

TEST_F(MemoryTest, SharedLineComesFromTheSocketsLlc) {
  read(0, 100, 0);
  read(1, 100, 1000);                    // 0 had it exclusively; now it is shared and in the LLC
  EXPECT_EQ(read(2, 100, 2000), 2040u);  // LLC of socket 0
  EXPECT_EQ(memory->totals(2).llc_hits, 1u);
  EXPECT_EQ(read(8, 100, 3000), 3200u);  // socket 1's LLC does not have it: nearest holder
  EXPECT_EQ(read(9, 100, 4000), 4040u);  // now it does
}

TEST_F(MemoryTest, MigratoryLineIsTheReadersToWrite) {
  machine.coherence.migratory = true;
  rebuild();
  modify(0, 100, 0);
  EXPECT_EQ(read(1, 100, 1000), 1050u);
  EXPECT_FALSE(memory->holds(0, 100));
  EXPECT_EQ(modify(1, 100, 2000), 2012u);  // L1 2 + RMW 10: nobody has to be asked
  EXPECT_EQ(read(0, 100, 3000), 3050u);
  EXPECT_EQ(read(1, 100, 4000), 4050u);    // 0 has not modified it: shared now
  EXPECT_EQ(modify(1, 100, 5000), 5065u);  // the other copy: 50 to confirm, 5 a copy; RMW 10
}

TEST_F(MemoryTest, MigratoryLineStaysWithATransaction) {
  machine.coherence.migratory = true;
  rebuild();
  modify(0, 100, 0);
  memory->mark(0, 100, use::read);
  EXPECT_EQ(read(1, 100, 1000), 1050u);
  EXPECT_TRUE(memory->holds(0, 100));
  EXPECT_TRUE(events.conflicts.empty());
}

TEST_F(MemoryTest, UpgradeCostsTheFarthestSharerAndEachCopy) {
  line what = 200;
  const auto shared_by = [&](std::initializer_list<unsigned> readers) {
    ++what;
    cycles now = 0;
    for (const unsigned reader : readers) read(reader, what, now += 1000);
    return modify(0, what, 10000) - 10000 - 10;
  };
  read(0, 200, 0);
  EXPECT_EQ(shared_by({0, 1}), 50u + 5);  // farther than the directory (LLC, 40)
  EXPECT_EQ(shared_by({0, 1, 2}), 80u + 2 * 5);
  EXPECT_EQ(shared_by({0, 1, 2, 4}), 100u + 3 * 5);
  EXPECT_EQ(shared_by({0, 1, 2, 4, 8}), 200u + 4 * 5);
  EXPECT_EQ(memory->totals(0).upgrades, 4u);
  EXPECT_EQ(memory->totals(0).invalidations_sent, 10u);
}

TEST_F(MemoryTest, WriteMissTakesTheOwnersCopy) {
  modify(0, 100, 0);
  EXPECT_EQ(modify(8, 100, 1000), 1210u);
  EXPECT_FALSE(memory->holds(0, 100));
  EXPECT_TRUE(memory->holds_exclusively(8, 100));
  EXPECT_EQ(events.invalidations, (std::vector<told>{{0, 100, 8}}));
}

TEST_F(MemoryTest, WriteMissOfASharedLineWaitsForTheFarthestCopy) {
  read(0, 100, 0);
  read(1, 100, 1000);
  // Data from the LLC in 40; copies in 0 (80 away from 2) and 1.
  EXPECT_EQ(modify(2, 100, 2000), 2000u + 80 + 2 * 5 + 10);
}

TEST_F(MemoryTest, L2ServesWhatLeftTheL1) {
  read(0, 0, 0);
  read(0, 8, 1000);   // same L1 set (8 sets of 2 ways)
  read(0, 16, 2000);  // line 0 leaves the L1
  EXPECT_EQ(events.evictions, (std::vector<told>{{0, 0, 1}}));
  EXPECT_EQ(read(0, 0, 3000), 3010u);
  EXPECT_EQ(memory->totals(0).l2_hits, 1u);
}

TEST_F(MemoryTest, LeastRecentlyUsedLineLeaves) {
  read(0, 0, 0);
  read(0, 8, 1000);
  read(0, 0, 2000);
  read(0, 16, 3000);
  EXPECT_TRUE(memory->in_l1(0, 0));
  EXPECT_FALSE(memory->in_l1(0, 8));
}

TEST_F(MemoryTest, LlcCatchesWhatTheL2Drops) {
  for (line what = 0; what < 5 * 32; what += 32) read(0, what, what * 1000);  // one L2 set of 4
  EXPECT_FALSE(memory->holds(0, 0));
  EXPECT_EQ(std::count(events.evictions.begin(), events.evictions.end(), told{0, 0, 2}), 1);
  EXPECT_EQ(read(0, 0, 1'000'000), 1'000'040u);
}

TEST_F(MemoryTest, MemoryAgainWhenEvenTheLlcDropsIt) {
  // 4 lines stay in the L2 set, 8 in the LLC's.
  for (line what = 0; what <= 12 * 128; what += 128) read(0, what, what * 1000);
  EXPECT_EQ(read(0, 0, 10'000'000), 10'000'300u);
}

TEST_F(MemoryTest, AccessToSeveralLinesEndsWithTheLast) {
  // Reads start a cycle apart, each waits 10 more for the memory's bandwidth than the one before.
  EXPECT_EQ(memory->access(0, address(100), 256, use::read, 0), 330u);
  EXPECT_EQ(memory->totals(0).accesses, 4u);
  EXPECT_EQ(memory->access(0, address(100) + 60, 8, use::read, 1000), 1003u);
}

TEST_F(MemoryTest, PrivateLinesCanBeDropped) {
  modify(0, 100, 0);
  memory->drop_private_lines(0);
  EXPECT_FALSE(memory->holds(0, 100));
  EXPECT_EQ(read(0, 100, 1000), 1040u);  // from the LLC
}

TEST_F(MemoryTest, CoresOfAModuleMeetInTheirL2) {
  machine.l2.shared_by = 2;
  rebuild();
  modify(0, 100, 0);
  EXPECT_EQ(read(1, 100, 1000), 1010u);
  EXPECT_EQ(events.downgrades, (std::vector<told>{{0, 100, 1}}));
  EXPECT_EQ(modify(1, 100, 2000), 2020u);  // the group has it exclusively: L2 10 + RMW 10
  EXPECT_EQ(events.invalidations, (std::vector<told>{{0, 100, 1}}));
  EXPECT_EQ(read(2, 100, 3000), 3080u);  // the next module, same node
}

TEST_F(MemoryTest, LineSizesOtherThan64Work) {
  machine.l1 = {6144, 6, 256, 4, 1};  // 4 sets
  machine.l2 = {65536, 8, 256, 10, 1};
  machine.llc = {1048576, 16, 256, 40, 8};
  rebuild();
  const cycles first = memory->access(0, 0x10000, 8, use::read, 0);
  EXPECT_EQ(memory->access(0, 0x100ff, 1, use::read, first), first + 4);
  EXPECT_EQ(memory->line_of(0x10100), 0x101u);
}

}  // namespace
}  // namespace syncopate::simulated
