// auto_lock: what it promises beyond exclusion -- nobody starves, and a forked child can go on.
#include <pthread.h>
#include <sys/wait.h>

#include <new>

#include <syncopate/locks/auto_lock.h>

#include "checks.h"

namespace {

using namespace conformance;
using syncopate::auto_lock;

// Bounds by number, not by time: a hand-over is due after a period in which a tight loop acquires
// some ten thousand times; these leave room for a machine that is busy otherwise.
constexpr long enough = 10, bound = 100'000'000 / sanitizer_divisor;

TEST(AutoLock, EveryThreadGetsInUnderBarging) {
  constexpr int threads = 4;
  auto_lock lock;
  long acquired[threads] = {}, total = 0;  // guarded by lock
  on_threads(threads, [&](int me) {
    for (bool go_on = true; go_on;) {
      lock.lock();
      ++acquired[me];
      bool satisfied = true;
      for (const long n : acquired) satisfied = satisfied && n >= enough;
      go_on = !satisfied && ++total < bound;
      machine::spin(2);
      lock.unlock();
    }
  });
  for (int i = 0; i < threads; ++i) EXPECT_GE(acquired[i], enough) << "thread " << i;
}

// One thread releases only to take the lock again at once; another one wants it now and then.
TEST(AutoLock, IsHandedOverByAThreadThatNeverPauses) {
  auto_lock lock;
  std::atomic<bool> done{false};
  long barged = 0, acquired = 0;
  on_threads(2, [&](int me) {
    if (me == 0) {
      for (; !done.load(std::memory_order_relaxed) && barged < bound; ++barged) {
        lock.lock();
        machine::spin(8);
        lock.unlock();
      }
    } else {
      for (; acquired < enough; ++acquired) {
        lock.lock();
        lock.unlock();
        sleep_ms(1);
      }
      done.store(true);
    }
  });
  EXPECT_EQ(acquired, enough);
  EXPECT_LT(barged, bound);
}

#if !defined(__SANITIZE_THREAD__)  // It sees nothing of what glibc's code releases.
// All release by glibc's code, as the waits of its condition variables do. It wakes nobody asleep
// in our queue, whether first in it or not: each has to look again by itself, or this never ends.
TEST(AutoLock, SleepersOutlastReleasesByGlibc) {
  constexpr int threads = 4;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  auto& lock = *::new (&mutex) auto_lock;
  long sections = 0;  // guarded by lock
  on_threads(threads, [&](int) {
    for (int i = 0; i < 3; ++i) {
      lock.lock();
      ++sections;
      sleep_ms(3);  // long enough for the others to fall asleep
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    }
  });
  EXPECT_EQ(sections, 3 * threads);
  EXPECT_FALSE(lock.is_locked());
}
#endif

TEST(AutoLock, KnowsItsOwner) {
  auto_lock lock;
  EXPECT_EQ(lock.owner(), 0);
  lock.lock();
  EXPECT_EQ(lock.owner(), ::gettid());
  lock.unlock();
  EXPECT_EQ(lock.owner(), 0);
  ASSERT_TRUE(lock.try_lock());
  EXPECT_EQ(lock.owner(), ::gettid());
  lock.unlock();
}

// The thread sanitizer cannot follow threads that a forked child starts.
#if defined(__SANITIZE_THREAD__)
constexpr int threads_of_child = 0;
#else
constexpr int threads_of_child = 3;
#endif

// Uses the lock with threads of its own, and by itself. Returns whether all was well.
bool works_in_child(auto_lock& lock, std::uint32_t seed) {
  if (threads_of_child != 0 &&
      check_exclusion(lock, {.threads = threads_of_child, .operations = 200, .seed = seed}) !=
          verdict::holds)
    return false;
  for (int i = 0; i < 100; ++i) {
    if (!lock.try_lock()) return false;
    const bool in_vain = lock.try_lock();
    lock.unlock();
    if (in_vain || !lock.lock_until(in(millisecond))) return false;
    lock.unlock();
    lock.lock();
    lock.unlock();
  }
  return true;
}

// Forks with the lock held. The child unlocks what it inherited and uses the lock; returns its exit
// status, 0 if all was well.
int fork_and_use(auto_lock& lock, std::uint32_t seed) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);  // ends a child that is stuck
    lock.unlock();
    ::_exit(works_in_child(lock, seed) ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(AutoLock, WorksInAForkedChildWithWaitersInTheParent) {
  auto_lock lock;
  lock.lock();
  const auto wait_for_it = [&lock] {
    lock.lock();
    lock.unlock();
  };
  observed_thread first(wait_for_it), second(wait_for_it);
  first.await_sleep();
  second.await_sleep();
  EXPECT_EQ(fork_and_use(lock, test_seed()), 0);
  lock.unlock();
  first.join();
  second.join();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// Whatever the parent's threads are just doing -- spinning, going to sleep, awaiting a hand-over --
// the child must not wait for them.
TEST(AutoLock, WorksInAForkedChildOfABusyParent) {
  const std::uint32_t seed = test_seed();
  auto_lock lock;
  std::atomic<bool> done{false};
  on_threads(4, [&](int me) {
    random_source random = random_of(seed, me);
    if (me != 0) {
      while (!done.load(std::memory_order_relaxed)) {
        lock.lock();
        machine::spin(below(random, 200));
        lock.unlock();
      }
      return;
    }
    for (std::uint32_t i = 0; i < 15; ++i) {
      sleep_ms(1 + below(random, 3));
      lock.lock();
      sleep_ms(below(random, 2));  // sometimes everybody has gone to sleep
      EXPECT_EQ(fork_and_use(lock, seed + i), 0) << "fork " << i;
      lock.unlock();
    }
    done.store(true);
  });
}

}  // namespace
