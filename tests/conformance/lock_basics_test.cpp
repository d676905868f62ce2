// What Lockable promises, for every lock: free at first, exclusive, usable with the standard's
// tools.
#include <memory>
#include <mutex>

#include "every_lock.h"

namespace {

using namespace conformance;

// Runs try_lock() on another thread, and unlocks there if it succeeded.
bool free_for_others(lockable& lock) {
  bool result = false;
  on_threads(1, [&](int) {
    result = lock.try_lock();
    if (result) lock.unlock();
  });
  return result;
}

const int registered[] = {
    for_every_kind("StartsFree", excludes,
                   [](const lock_kind& kind) {
                     const auto lock = kind.make();
                     EXPECT_TRUE(lock->try_lock());
                     EXPECT_FALSE(lock->contended());
                     lock->unlock();
                   }),

    for_every_kind("ZerosAreAFreeLock", excludes,
                   [](const lock_kind& kind) {
                     EXPECT_TRUE(kind.starts_as_zeros());
                     const auto lock = kind.make_of_zeros();
                     EXPECT_EQ(check_exclusion(*lock, {.operations = 100}), verdict::holds);
                   }),

    for_every_kind("IsHeldBetweenLockAndUnlock", excludes,
                   [](const lock_kind& kind) {
                     const auto lock = kind.make();
                     for (int i = 0; i < 3; ++i) {
                       lock->lock();
                       EXPECT_FALSE(lock->try_lock());
                       EXPECT_FALSE(free_for_others(*lock));
                       lock->unlock();
                       EXPECT_TRUE(free_for_others(*lock));
                       ASSERT_TRUE(lock->try_lock());
                       EXPECT_FALSE(lock->try_lock());
                       EXPECT_FALSE(free_for_others(*lock));
                       lock->unlock();
                       EXPECT_TRUE(free_for_others(*lock));
                     }
                   }),

    for_every_kind("IsIndependentOfItsNeighbors", excludes,
                   [](const lock_kind& kind) {
                     const auto locks = kind.make_neighbors();
                     locks[1]->lock();
                     EXPECT_TRUE(free_for_others(*locks[0]));
                     EXPECT_TRUE(free_for_others(*locks[2]));
                     locks[0]->lock();
                     locks[1]->unlock();
                     EXPECT_TRUE(free_for_others(*locks[1]));
                     EXPECT_FALSE(free_for_others(*locks[0]));
                     locks[0]->unlock();
                   }),

    for_every_kind("IsLockable", excludes,
                   [](const lock_kind& kind) {
                     const auto one = kind.make(), other = kind.make();
                     lockable &first = *one, &second = *other;
                     {
                       std::scoped_lock both(first, second);
                       EXPECT_FALSE(free_for_others(first));
                       EXPECT_FALSE(free_for_others(second));
                     }
                     {
                       std::unique_lock guard(first, std::try_to_lock);
                       EXPECT_TRUE(guard.owns_lock());
                       std::unique_lock later(second, std::defer_lock);
                       EXPECT_EQ(std::try_lock(later, first), 1);  // index of the one that was held
                       EXPECT_TRUE(free_for_others(second));
                     }
                     EXPECT_TRUE(free_for_others(first));
                   }),

    for_every_kind("StandardLockAvoidsDeadlock", excludes,
                   [](const lock_kind& kind) {
                     const auto first = kind.make(), second = kind.make();
                     long count = 0;
                     const int rounds = kind.operations(2) / 4;
                     on_threads(2, [&](int thread) {
                       for (int i = 0; i < rounds; ++i) {
                         lockable& a = thread == 0 ? *first : *second;
                         lockable& b = thread == 0 ? *second : *first;
                         std::lock(a, b);
                         ++count;
                         a.unlock();
                         b.unlock();
                       }
                     });
                     EXPECT_EQ(count, 2L * rounds);
                   }),

    for_every_kind("OrdersWhatTryLockGuards", excludes,
                   [](const lock_kind& kind) {
                     const auto lock = kind.make();
                     const load how{.operations = kind.operations(2)};
                     const auto attempt = [](lockable& l, random_source&) { return l.try_lock(); };
                     EXPECT_EQ(check_with<plain_data>(*lock, how, attempt, [] { std::abort(); }),
                               verdict::holds);
                   }),

    for_every_kind("TellsOfASleepingWaiter", excludes_asleep,
                   [](const lock_kind& kind) {
                     const auto lock = kind.make();
                     lock->lock();
                     observed_thread waiter([&] {
                       lock->lock();
                       lock->unlock();
                     });
                     waiter.await_sleep();
                     EXPECT_FALSE(waiter.is_done());
                     EXPECT_TRUE(lock->contended());
                     lock->unlock();
                     waiter.join();
                     lock->lock();
                     EXPECT_FALSE(lock->contended());
                     lock->unlock();
                   }),

    // The holder may pass the duty to unlock on. No lock of ours keeps it with a thread: queue
    // nodes are found through the lock.
    for_every_kind("MayBeUnlockedByAnotherThread", excludes,
                   [](const lock_kind& kind) {
                     const auto lock = kind.make();
                     for (int i = 0; i < 20; ++i) {
                       lock->lock();
                       std::jthread waiter([&] {
                         lock->lock();
                         lock->unlock();
                       });
                       std::jthread([&] { lock->unlock(); }).join();
                     }
                     EXPECT_TRUE(lock->try_lock());
                     lock->unlock();
                   }),
};

TEST(EveryLock, IsInTheSuite) {
  int locks = 0;
  syncopate::for_each_lock([&]<class Lock>(const syncopate::lock_entry<Lock>&) {
    if (Lock::traits.excludes) ++locks;
  });
  EXPECT_EQ(registered[0], locks);
  EXPECT_GT(locks, 4);
}

TEST(NullLock, IsMarkedAsNotExcluding) {
  EXPECT_FALSE(syncopate::null_lock::traits.excludes);
  syncopate::null_lock lock;
  lock.lock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace
