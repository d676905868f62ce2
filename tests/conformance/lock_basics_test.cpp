// What Lockable promises, for every lock: free at first, exclusive, usable with the standard's
// tools.
#include <cstring>
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

void are_independent(lockable& first, lockable& middle, lockable& last) {
  middle.lock();
  EXPECT_TRUE(free_for_others(first));
  EXPECT_TRUE(free_for_others(last));
  first.lock();
  middle.unlock();
  EXPECT_TRUE(free_for_others(middle));
  EXPECT_FALSE(free_for_others(first));
  first.unlock();
}

const int registered[] = {
    for_every_kind("StartsFree", excluding,
                   [](const lock_kind& kind) {
                     const auto lock = kind.make();
                     EXPECT_TRUE(lock->try_lock());
                     EXPECT_FALSE(lock->contended());
                     lock->unlock();
                   }),

    for_every_lock("ZerosAreAFreeLock", excluding,
                   []<class Lock>() {
                     static_assert(std::is_trivially_destructible_v<Lock>);
                     alignas(Lock) std::byte bytes[sizeof(Lock)]{};
                     ::new (static_cast<void*>(bytes)) Lock;
                     const std::byte zeros[sizeof(Lock)]{};
                     EXPECT_EQ(std::memcmp(bytes, zeros, sizeof(Lock)), 0);
                     zeroed<Lock> zeroed_lock;
                     lockable_as<Lock&> as(*zeroed_lock);
                     lockable& lock = as;
                     EXPECT_EQ(check_exclusion(lock, {.operations = 100}), verdict::holds);
                   }),

    for_every_kind("IsHeldBetweenLockAndUnlock", excluding,
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

    for_every_lock("IsIndependentOfItsNeighbors", excluding,
                   []<class Lock>() {
                     Lock locks[3];
                     lockable_as<Lock&> first(locks[0]), middle(locks[1]), last(locks[2]);
                     are_independent(first, middle, last);
                   }),

    for_every_kind("IsLockable", excluding,
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

    for_every_kind("StandardLockAvoidsDeadlock", excluding,
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

    for_every_lock("OrdersWhatTryLockGuards", excluding,
                   []<class Lock>() {
                     Lock lock;
                     load how{.operations = operations_for<Lock>(2)};
                     const auto attempt = [](Lock& l, random_source&) { return l.try_lock(); };
                     EXPECT_EQ(check_with<plain_data>(lock, how, attempt, [] { std::abort(); }),
                               verdict::holds);
                   }),

    for_every_kind("TellsOfASleepingWaiter", sleeping,
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
    for_every_kind("MayBeUnlockedByAnotherThread", excluding,
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
