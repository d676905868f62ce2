// Cycles in the order of locks.
#include "preload/misuse/lock_order.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace syncopate::shim {
namespace {

struct graph {
  // Value-initialized: all zero.
  std::unique_ptr<lock_order> order = std::make_unique<lock_order>();
  char locks[4000]{};

  // Edges of the cycle that from -> to closes; 0: none. By another thread each time.
  unsigned add(int from, int to) { return add(from, to, ++threads, {}); }
  unsigned add(int from, int to, int thread, std::vector<int> gates) {
    const lock_order::edge* cycle[lock_order::longest_cycle];
    lock_order::edge added{locks + from, locks + to, thread, 0, {}, {}, false};
    for (std::size_t i = 0; i < gates.size(); ++i) added.gates[i] = locks + gates[i];
    const unsigned length = order->add(added, cycle);
    told.clear();
    for (unsigned i = 0; i + 1 < length && i < lock_order::longest_cycle; ++i)
      told.emplace_back(static_cast<const char*>(cycle[i]->from) - locks,
                        static_cast<const char*>(cycle[i]->to) - locks);
    return length;
  }
  std::vector<std::pair<long, long>> told;
  int threads = 0;
};

TEST(LockOrder, TwoOrdersOfTwoLocksAreACycle) {
  graph g;
  EXPECT_EQ(g.add(1, 2), 0u);
  EXPECT_EQ(g.add(2, 1), 2u);
  EXPECT_EQ(g.told, (std::vector<std::pair<long, long>>{{1, 2}}));
}

TEST(LockOrder, OneOrderIsNone) {
  graph g;
  for (int i = 0; i < 50; ++i)
    for (int j = i + 1; j < 50; ++j) EXPECT_EQ(g.add(i, j), 0u);
}

TEST(LockOrder, AKnownEdgeIsToldOnce) {
  graph g;
  EXPECT_EQ(g.add(1, 2), 0u);
  EXPECT_EQ(g.add(2, 1), 2u);
  EXPECT_EQ(g.add(2, 1), 0u);
}

TEST(LockOrder, LongCyclesAreFoundAndToldInOrder) {
  graph g;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(g.add(i, i + 1), 0u);
  EXPECT_EQ(g.add(3, 9), 0u);  // a way that leads nowhere
  EXPECT_EQ(g.add(5, 0), 6u);
  EXPECT_EQ(g.told, (std::vector<std::pair<long, long>>{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}));
}

TEST(LockOrder, ACycleThatIsTooLongToTellIsStillFound) {
  graph g;
  for (int i = 0; i < 30; ++i) EXPECT_EQ(g.add(i, i + 1), 0u);
  EXPECT_EQ(g.add(30, 0), 31u);
  EXPECT_EQ(g.told.size(), lock_order::longest_cycle);
}

TEST(LockOrder, WhatIsGoneHasNoOrder) {
  graph g;
  EXPECT_EQ(g.add(1, 2), 0u);
  EXPECT_TRUE(g.order->forget(g.locks + 2));
  EXPECT_FALSE(g.order->forget(g.locks + 3));
  EXPECT_EQ(g.add(2, 1), 0u);
  EXPECT_EQ(g.add(1, 2), 2u);
}

TEST(LockOrder, OneThreadDoesNotWaitForItself) {
  graph g;
  EXPECT_EQ(g.add(1, 2, 7, {}), 0u);
  EXPECT_EQ(g.add(2, 1, 7, {}), 0u);
  EXPECT_EQ(g.add(1, 2, 7, {}), 0u);
  EXPECT_EQ(g.add(1, 2, 8, {}), 2u);  // another one does, though both orders are known
  EXPECT_EQ(g.add(2, 1, 9, {}), 0u);  // that is told
}

TEST(LockOrder, WhatIsUnderOneMoreLockIsKeptApart) {
  graph g;
  EXPECT_EQ(g.add(1, 2, 7, {5, 6}), 0u);
  EXPECT_EQ(g.add(2, 1, 8, {9, 6}), 0u);
  EXPECT_EQ(g.add(1, 2, 8, {6}), 0u);
  EXPECT_EQ(g.add(1, 2, 8, {5}), 2u);  // once without it
}

TEST(LockOrder, EachOrderMayHaveALockOfItsOwn) {
  graph g;
  EXPECT_EQ(g.add(1, 2, 7, {5}), 0u);
  EXPECT_EQ(g.add(2, 3, 8, {5, 6}), 0u);
  EXPECT_EQ(g.add(3, 1, 9, {6}), 3u);
}

TEST(LockOrder, BesideAWayThatIsKeptApartAnotherMayNotBe) {
  graph g;
  EXPECT_EQ(g.add(1, 2, 7, {5}), 0u);
  EXPECT_EQ(g.add(2, 3, 7, {5}), 0u);
  EXPECT_EQ(g.add(1, 4, 7, {5}), 0u);
  EXPECT_EQ(g.add(4, 2, 8, {}), 0u);
  EXPECT_EQ(g.add(3, 1, 8, {5}), 4u);
  EXPECT_EQ(g.told, (std::vector<std::pair<long, long>>{{1, 4}, {4, 2}, {2, 3}}));
}

TEST(LockOrder, RunsOutOfRoomQuietly) {
  graph g;
  for (int i = 0; i < 200; ++i)
    for (int j = i + 1; j < 200; ++j) EXPECT_EQ(g.add(i, j), 0u);
  for (int i = 200; i < 4000; ++i) (void)g.add(i, i - 1);
  EXPECT_TRUE(g.order->forget(g.locks + 7));
  EXPECT_EQ(g.add(0, 7), 0u);
}

}  // namespace
}  // namespace syncopate::shim
