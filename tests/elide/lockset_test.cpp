// lockset where transactions do not commit: the order of acquisition, duplicates, all or none.
#include <gtest/gtest.h>
#include <syncopate/elide/elided_lock.h>
#include <syncopate/elide/lockset.h>
#include <syncopate/locks/all.h>

#include <array>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace syncopate::elide;
using syncopate::futex_lock, syncopate::mcs_lock, syncopate::tatas_lock, syncopate::ticket_lock;

// Notes in which order locks are taken.
struct noting_lock {
  static inline std::vector<const noting_lock*> taken;
  bool held = false;
  void lock() { held = true, taken.push_back(this); }
  bool try_lock() { return !held && (lock(), true); }
  void unlock() { held = false; }
  [[nodiscard]] bool is_locked() const { return held; }
};

class Lockset : public ::testing::Test {
 protected:
  void SetUp() override {
    noting_lock::taken.clear();
    before_ = control::now();
    set_mode(mode::off);
  }
  void TearDown() override { set_mode(before_); }

 private:
  mode before_ = mode::off;
};

TEST_F(Lockset, TakesInTheOrderOfAddressesEachOnce) {
  std::array<noting_lock, 3> locks;
  const std::vector<const noting_lock*> expected{&locks[0], &locks[1], &locks[2]};
  {
    const lockset_guard hold(locks[2], locks[0], locks[1], locks[0], locks[2]);
    EXPECT_EQ(noting_lock::taken, expected);
    for (const noting_lock& l : locks) EXPECT_TRUE(l.held);
  }
  for (const noting_lock& l : locks) EXPECT_FALSE(l.held);

  noting_lock::taken.clear();
  std::array<noting_lock*, 4> pointers{&locks[1], &locks[2], &locks[1], &locks[0]};
  lockset_span set{std::span(pointers)};
  const std::lock_guard hold(set);
  EXPECT_EQ(noting_lock::taken, expected);
}

TEST_F(Lockset, TryLockTakesAllOrNone) {
  std::array<noting_lock, 3> locks;
  lockset set(locks[0], locks[1], locks[2]);
  locks[1].held = true;
  EXPECT_FALSE(set.try_lock());
  EXPECT_FALSE(locks[0].held || locks[2].held);
  locks[1].held = false;
  EXPECT_TRUE(set.try_lock());
  EXPECT_TRUE(locks[0].held && locks[1].held && locks[2].held);
  set.unlock();
  EXPECT_FALSE(locks[0].held || locks[1].held || locks[2].held);
}

TEST_F(Lockset, AnEmptySpanLocksNothing) {
  lockset_span set{std::span<noting_lock*>()};
  EXPECT_TRUE(set.try_lock());
  set.unlock();
}

TEST_F(Lockset, MixesTypesAndTakesTheLocksInsideElidedOnes) {
  elided_lock<tatas_lock<>> elided;
  ticket_lock<> ticket;
  mcs_lock<> mcs;
  {
    const lockset_guard hold(mcs, elided, ticket);
    EXPECT_TRUE(elided.is_locked() && ticket.is_locked() && mcs.is_locked());
  }
  EXPECT_FALSE(elided.is_locked() || ticket.is_locked() || mcs.is_locked());
}

// Threads take overlapping sets in conflicting orders: no deadlock, no lost update.
TEST(LocksetStress, ConflictingOrders) {
  struct cell {
    futex_lock lock;
    long value = 0;
  };
  std::array<cell, 3> cells;
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 3; ++t)
      threads.emplace_back([&cells, t] {
        cell &a = cells[t], &b = cells[(t + 1) % 3];
        for (int i = 0; i < 3000; ++i) {
          const lockset_guard hold(a.lock, b.lock);
          ++a.value;
          --b.value;
        }
      });
  }
  EXPECT_EQ(cells[0].value + cells[1].value + cells[2].value, 0);
}

TEST(TryThenBlock, TakesTheOtherPathWhenBusy) {
  futex_lock lock;
  int free_path = 0, busy_path = 0;
  const auto visit = [&] {
    try_then_block(
        lock, [&] { ++free_path; }, [&] { ++busy_path; });
  };
  visit();
  lock.lock();
  std::jthread other(visit);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  lock.unlock();
  other.join();
  EXPECT_EQ(free_path, 1);
  EXPECT_EQ(busy_path, 1);
  EXPECT_FALSE(lock.is_locked());
}

TEST(VisitFreeFirst, LeavesBusyOnesForTheEnd) {
  struct item {
    futex_lock lock;
    int visits = 0;
  };
  std::array<item, 5> items;
  items[1].lock.lock();
  items[3].lock.lock();
  std::vector<std::ptrdiff_t> order;
  const std::size_t busy = visit_free_first(
      items, [](item& i) -> futex_lock& { return i.lock; },
      [&](item& i) {
        ++i.visits;
        order.push_back(&i - items.data());
        if (&i == &items[4]) items[1].lock.unlock(), items[3].lock.unlock();
      });
  EXPECT_EQ(busy, 2u);
  EXPECT_EQ(order, (std::vector<std::ptrdiff_t>{0, 2, 4, 1, 3}));
  for (item& i : items) EXPECT_TRUE(i.visits == 1 && !i.lock.is_locked());
}

}  // namespace
