// Requests that wait for each other: busy lines, memory bandwidth, store buffers.
#include "memory_fixture.h"

namespace syncopate::simulated {
namespace {

TEST_F(MemoryTest, WritersOfOneLineQueue) {
  modify(0, 100, 0);
  // Each gets the line 50 to 100 cycles after the one before has it, and keeps it for its RMW.
  EXPECT_EQ(modify(1, 100, 1000), 1060u);  // 0 -> 1: cluster
  EXPECT_EQ(modify(2, 100, 1000), 1150u);  // 1 -> 2: node 80
  EXPECT_EQ(modify(3, 100, 1000), 1210u);  // 2 -> 3: cluster
  EXPECT_EQ(modify(4, 100, 1000), 1320u);  // 3 -> 4: socket
  EXPECT_EQ(memory->totals(4).waited, 210u);
}

TEST_F(MemoryTest, ReadersOfOneLineQueueForItsOccupancy) {
  modify(0, 100, 0);
  EXPECT_EQ(read(1, 100, 1000), 1050u);
  EXPECT_EQ(read(2, 100, 1000), 1060u);  // 20 later, from the LLC: 40
  EXPECT_EQ(read(3, 100, 1000), 1080u);
  EXPECT_EQ(read(4, 100, 1000), 1100u);
}

TEST_F(MemoryTest, QueueOfReadersGrowsLinearly) {
  modify(0, 100, 0);
  cycles last = 0;
  for (unsigned reader = 1; reader < 8; ++reader) last = read(reader, 100, 1000);
  EXPECT_EQ(last, 1000u + 6 * 20 + 40);
}

TEST_F(MemoryTest, DifferentLinesDoNotQueue) {
  modify(0, 100, 0);
  modify(0, 101, 500);
  EXPECT_EQ(modify(1, 100, 1000), 1060u);
  EXPECT_EQ(modify(2, 101, 1000), 1090u);
}

TEST_F(MemoryTest, MemoryDeliversALineEveryTenCycles) {
  EXPECT_EQ(read(0, 0, 0), 300u);
  EXPECT_EQ(read(1, 1, 0), 310u);
  EXPECT_EQ(read(2, 2, 0), 320u);
  EXPECT_EQ(read(4, 64, 0), 300u);   // another node has its own channels
  EXPECT_EQ(read(3, 3, 25), 330u);   // queued behind the third: 30
  EXPECT_EQ(read(3, 4, 100), 400u);  // idle again
}

TEST_F(MemoryTest, DirtyLinesThatLeaveTheLlcUseBandwidth) {
  // 12 written lines of one LLC set: 4 in the L2, 8 in the LLC.
  for (line what = 0; what < 12 * 128; what += 128) modify(0, what, what * 1000);
  // The next one needs room in the LLC for itself and for what the L2 drops: two write-backs.
  const cycles now = 100'000'000;
  EXPECT_EQ(read(0, 12 * 128, now), now + 300);
  EXPECT_EQ(read(1, 1, now), now + 330);  // behind the read and the write-backs
}

TEST_F(MemoryTest, StoresRetireInTheBackground) {
  EXPECT_EQ(write(0, 100, 0), 1u);
  EXPECT_EQ(memory->drained_at(0), 300u);
  EXPECT_EQ(read(0, 200, 301), 601u);  // not delayed by anything
}

TEST_F(MemoryTest, StoresOverlapTheirMissesButRetireInOrder) {
  modify(0, 7, 0);  // owned, a hit
  EXPECT_EQ(write(0, 100, 1000), 1001u);
  EXPECT_EQ(memory->drained_at(0), 1300u);
  EXPECT_EQ(write(0, 101, 1001), 1002u);
  EXPECT_EQ(memory->drained_at(0), 1310u);  // its line was under way at the same time
  EXPECT_EQ(write(0, 7, 1002), 1003u);
  EXPECT_EQ(memory->drained_at(0), 1311u);  // a hit, but after the others
}

TEST_F(MemoryTest, StoreThatIsHeldBackIsNotSeenByOthersBefore) {
  modify(0, 7, 0);
  write(0, 100, 1000);  // visible at 1300
  write(0, 7, 1001);    // unlock after the critical section's store: at 1301
  EXPECT_EQ(memory->drained_at(0), 1301u);
  EXPECT_EQ(read(1, 7, 1100), 1301u + 50);
}

TEST_F(MemoryTest, FullStoreBufferStalls) {
  for (line what = 0; what < 4; ++what) EXPECT_EQ(write(0, what, what), what + 1);
  EXPECT_EQ(memory->drained_at(0), 330u);
  EXPECT_EQ(write(0, 4, 4), 301u);  // until the first of the four entries is free
  EXPECT_EQ(memory->totals(0).stalled, 296u);
}

TEST_F(MemoryTest, AtomicsAndFencesDrainTheStoreBuffer) {
  modify(0, 7, 0);
  write(0, 100, 1000);
  EXPECT_EQ(modify(0, 7, 1001), 1300u + 2 + 10);
  write(0, 200, 2000);
  EXPECT_EQ(memory->fence(0, 2001), 2300u + 20);
  EXPECT_EQ(memory->fence(0, 3000), 3020u);
}

TEST_F(MemoryTest, WeakMachinesAtomicsDoNotWaitForStores) {
  machine.atomic.drains_stores = false;
  rebuild();
  modify(0, 7, 0);
  write(0, 100, 1000);
  EXPECT_EQ(modify(0, 7, 1001), 1013u);
}

TEST_F(MemoryTest, LoadsTakeTheirValueFromTheStoreBuffer) {
  write(0, 100, 0);
  EXPECT_EQ(read(0, 100, 1), 3u);
}

TEST_F(MemoryTest, LoadsOfOtherBytesWaitForTheLine) {
  write(0, 100, 0);
  EXPECT_EQ(memory->access(0, address(100) + 8, 8, use::read, 1), 302u);
  EXPECT_EQ(memory->access(0, address(100) + 4, 8, use::read, 2), 302u);  // half covered
  EXPECT_EQ(memory->access(0, address(100) + 8, 8, use::read, 400), 402u);
}

TEST_F(MemoryTest, SiblingsShareTheL1AndWaitForItsLines) {
  machine.topology.smt = 2;
  rebuild();
  EXPECT_EQ(read(0, 100, 0), 300u);
  EXPECT_EQ(read(16, 100, 10), 302u);  // hits a line that is still under way
  EXPECT_EQ(read(16, 100, 500), 502u);
  EXPECT_EQ(memory->totals(16).l1_misses, 0u);
}

TEST_F(MemoryTest, ContendedLinesAreCounted) {
  read(0, 100, 0);
  read(0, 101, 1000);
  EXPECT_TRUE(memory->lines().empty());
  modify(1, 100, 2000);
  modify(0, 100, 2000);
  ASSERT_EQ(memory->lines().size(), 1u);
  const line_statistics& counts = memory->lines()[0];
  EXPECT_EQ(counts.what, 100u);
  EXPECT_EQ(counts.misses, 2u);
  EXPECT_EQ(counts.transfers, 2u);
  EXPECT_EQ(counts.invalidations, 2u);
  EXPECT_EQ(counts.waited, 60u);
}

}  // namespace
}  // namespace syncopate::simulated
