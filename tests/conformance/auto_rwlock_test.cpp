// auto_rwlock: writers exclude everybody, readers share, and neither is forgotten.
#include <barrier>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include <syncopate/rwlocks/auto_rwlock.h>

#include "support.h"

namespace {

using namespace conformance;
using syncopate::auto_rwlock;
using syncopate::rw_preference;

constexpr auto prefer_readers = rw_preference::readers, prefer_writers = rw_preference::writers;

template <class Try>
bool elsewhere(Try attempt) {
  bool result = false;
  on_threads(1, [&](int) { result = attempt(); });
  return result;
}

bool may_read(auto_rwlock& lock, rw_preference preference = prefer_readers) {
  return elsewhere([&] {
    const bool entered = lock.try_lock_shared(preference);
    if (entered) lock.unlock_shared();
    return entered;
  });
}

bool may_write(auto_rwlock& lock) {
  return elsewhere([&] {
    const bool entered = lock.try_lock();
    if (entered) lock.unlock();
    return entered;
  });
}

TEST(AutoRwlock, StartsFree) {
  auto_rwlock lock;
  EXPECT_FALSE(lock.is_locked());
  EXPECT_FALSE(lock.contended());
  EXPECT_EQ(lock.exclusive_owner(), 0);
  EXPECT_TRUE(may_write(lock));
  EXPECT_TRUE(may_read(lock));
}

TEST(AutoRwlock, AWriterExcludesEverybody) {
  auto_rwlock lock;
  lock.lock();
  EXPECT_EQ(lock.exclusive_owner(), ::gettid());
  EXPECT_TRUE(lock.is_locked());
  EXPECT_FALSE(may_write(lock));
  EXPECT_FALSE(may_read(lock));
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_EQ(lock.exclusive_owner(), 0);
  EXPECT_TRUE(may_write(lock));
}

TEST(AutoRwlock, ReadersShareAndExcludeWriters) {
  auto_rwlock lock;
  constexpr int readers = 3;
  std::barrier all_inside(readers);
  on_threads(readers, [&](int) {
    lock.lock_shared();
    all_inside.arrive_and_wait();  // would never return if one excluded another
    EXPECT_EQ(lock.reader_count(), 3u);
    EXPECT_FALSE(may_write(lock));
    all_inside.arrive_and_wait();
    lock.unlock_shared();
  });
  EXPECT_EQ(lock.reader_count(), 0u);
  EXPECT_TRUE(may_write(lock));
}

// A writer that sleeps behind a reader, for as long as the object lives.
struct reader_and_waiting_writer {
  reader_and_waiting_writer() {
    lock.lock_shared();
    writer = std::make_unique<observed_thread>([this] {
      lock.lock();
      wrote = true;
      lock.unlock();
    });
    writer->await_sleep();
  }
  ~reader_and_waiting_writer() {
    lock.unlock_shared();
    writer->join();
    EXPECT_TRUE(wrote);
  }
  auto_rwlock lock;
  bool wrote = false;
  std::unique_ptr<observed_thread> writer;
};

TEST(AutoRwlock, ReadersOvertakeAWaitingWriterOnlyByPreference) {
  reader_and_waiting_writer waiting;
  EXPECT_TRUE(waiting.lock.contended());
  EXPECT_FALSE(waiting.writer->is_done());
  EXPECT_TRUE(may_read(waiting.lock, prefer_readers));
  EXPECT_FALSE(may_read(waiting.lock, prefer_writers));
}

TEST(AutoRwlock, AReaderReadsAgainWhileAWriterWaits) {
  reader_and_waiting_writer waiting;
  waiting.lock.lock_shared();
  EXPECT_EQ(waiting.lock.reader_count(), 2u);
  waiting.lock.unlock_shared();
}

TEST(AutoRwlock, AReaderThatPrefersWritersWaitsBehindThem) {
  std::vector<char> order;
  std::mutex guard;
  const auto note = [&](char who) {
    std::scoped_lock hold(guard);
    order.push_back(who);
  };
  auto_rwlock lock;
  lock.lock_shared();
  observed_thread writer([&] {
    lock.lock();
    note('w');
    lock.unlock();
  });
  writer.await_sleep();
  observed_thread reader([&] {
    EXPECT_TRUE(lock.lock_shared_until(prefer_writers, nullptr));
    note('r');
    lock.unlock_shared();
  });
  reader.await_sleep();
  lock.unlock_shared();
  writer.join();
  reader.join();
  EXPECT_EQ(order, (std::vector<char>{'w', 'r'}));
}

TEST(AutoRwlock, AWriterThatGivesUpLetsReadersIn) {
  auto_rwlock lock;
  lock.lock_shared();
  bool wrote = true;
  const machine::deadline until = in(100 * millisecond);
  observed_thread writer([&] { wrote = lock.lock_until(&until); });
  writer.await_sleep();
  // Waits behind the writer only: it must come in when the writer goes, though nobody unlocks.
  observed_thread reader([&] {
    EXPECT_TRUE(lock.lock_shared_until(prefer_writers, nullptr));
    lock.unlock_shared();
  });
  reader.join();
  writer.join();
  EXPECT_FALSE(wrote);
  EXPECT_LE(machine::remaining(until), 0);
  EXPECT_FALSE(lock.contended());
  lock.unlock_shared();
  EXPECT_TRUE(may_write(lock));
}

TEST(AutoRwlock, TimesOutNotEarly) {
  auto_rwlock lock;
  for (const clockid_t clock : both_clocks) {
    lock.lock();
    EXPECT_FALSE(elsewhere([&] {
      const machine::deadline until = in(10 * millisecond, clock);
      const bool read = lock.lock_shared_until(prefer_readers, &until);
      EXPECT_LE(machine::remaining(until), 0);
      return read;
    }));
    EXPECT_FALSE(elsewhere([&] {
      const machine::deadline past = in(-millisecond, clock);
      return lock.lock_until(&past);
    }));
    lock.unlock();
    lock.lock_shared();
    EXPECT_FALSE(elsewhere([&] {
      const machine::deadline until = in(10 * millisecond, clock);
      const bool wrote = lock.lock_until(&until);
      EXPECT_LE(machine::remaining(until), 0);
      return wrote;
    }));
    lock.unlock_shared();
    const machine::deadline past = in(-millisecond, clock);
    EXPECT_TRUE(lock.lock_until(&past));  // what is free is taken
    lock.unlock();
  }
  EXPECT_FALSE(lock.contended());
}

TEST(AutoRwlock, AcquiresWhenReleasedInTime) {
  auto_rwlock lock;
  for (const bool shared : {false, true}) {
    lock.lock();
    bool acquired = false;
    observed_thread waiter([&] {
      const machine::deadline until = in(60'000 * millisecond);
      acquired = shared ? lock.lock_shared_until(prefer_readers, &until) : lock.lock_until(&until);
      if (acquired) shared ? lock.unlock_shared() : lock.unlock();
    });
    waiter.await_sleep();
    lock.unlock();
    waiter.join();
    EXPECT_TRUE(acquired);
  }
}

TEST(AutoRwlock, AReleaseLetsAllWaitingReadersIn) {
  auto_rwlock lock;
  constexpr int readers = 3;
  std::barrier all_inside(readers);
  lock.lock();
  const auto read = [&] {
    lock.lock_shared();
    all_inside.arrive_and_wait();
    lock.unlock_shared();
  };
  observed_thread first(read), second(read), third(read);
  for (auto* thread : {&first, &second, &third}) thread->await_sleep();
  lock.unlock();
  for (auto* thread : {&first, &second, &third}) thread->join();
  EXPECT_EQ(lock.reader_count(), 0u);
}

TEST(AutoRwlock, WorksWithTheStandardsGuards) {
  auto_rwlock lock, other;
  {
    std::shared_lock guard(lock);
    std::shared_lock again(lock, std::try_to_lock);
    EXPECT_TRUE(again.owns_lock());
    EXPECT_EQ(lock.reader_count(), 2u);
  }
  {
    std::scoped_lock both(lock, other);
    EXPECT_FALSE(may_read(lock));
    EXPECT_FALSE(may_read(other));
  }
  std::unique_lock writer(lock, std::try_to_lock);
  EXPECT_TRUE(writer.owns_lock());
}

// ---- under load ---------------------------------------------------------------------------------

struct rw_load {
  rw_preference preference;
  int threads, operations;
  std::uint32_t writes_in_16;
  bool with_deadlines;
};

bool acquire(auto_rwlock& lock, const rw_load& how, bool write, random_source& random) {
  const machine::deadline until = in(below(random, 300'000));
  const machine::deadline* const limit =
      how.with_deadlines && below(random, 2) == 0 ? &until : nullptr;
  return write ? lock.lock_until(limit) : lock.lock_shared_until(how.preference, limit);
}

void expect_rw_exclusion(const rw_load& how) {
  const std::uint32_t seed = test_seed();
  auto_rwlock lock;
  long first = 0, second = 0;  // guarded by lock; equal whenever it is not held exclusively
  std::atomic<long> writes{0}, torn{0}, readers{0};
  on_threads(how.threads, [&](int me) {
    random_source random = random_of(seed, me);
    for (int i = 0; i < how.operations; ++i) {
      const bool write = below(random, 16) < how.writes_in_16;
      if (!acquire(lock, how, write, random)) continue;
      if (write) {
        ++first;
        if (readers.load(std::memory_order_relaxed) != 0) torn.fetch_add(1);
        machine::spin(below(random, 30));
        if (below(random, 32) == 0) machine::yield();
        ++second;
        writes.fetch_add(1, std::memory_order_relaxed);
        lock.unlock();
      } else {
        readers.fetch_add(1, std::memory_order_relaxed);
        machine::spin(below(random, 30));
        if (below(random, 32) == 0) machine::yield();
        if (first != second) torn.fetch_add(1);
        readers.fetch_sub(1, std::memory_order_relaxed);
        lock.unlock_shared();
      }
    }
  });
  EXPECT_EQ(torn.load(), 0);
  EXPECT_EQ(first, writes.load());
  EXPECT_EQ(second, writes.load());
  EXPECT_FALSE(lock.is_locked());
  EXPECT_FALSE(lock.contended());
}

constexpr int share = 20'000 / sanitizer_divisor;

TEST(AutoRwlockStress, MostlyReaders) {
  expect_rw_exclusion({prefer_readers, 4, share, 1, false});
  expect_rw_exclusion({prefer_writers, 4, share, 1, false});
}

TEST(AutoRwlockStress, MostlyWriters) {
  expect_rw_exclusion({prefer_readers, 4, share, 12, false});
  expect_rw_exclusion({prefer_writers, 4, share, 12, false});
}

TEST(AutoRwlockStress, TwoThreads) {
  expect_rw_exclusion({prefer_readers, 2, share, 8, false});
  expect_rw_exclusion({prefer_writers, 2, share, 8, false});
}

TEST(AutoRwlockStress, Deadlines) {
  expect_rw_exclusion({prefer_readers, 6, share / 4, 6, true});
  expect_rw_exclusion({prefer_writers, 6, share / 4, 6, true});
}

// Writers must get in though readers keep the lock busy without a gap, if they prefer writers.
TEST(AutoRwlockStress, AWriterGetsInAmongOverlappingReaders) {
  auto_rwlock lock;
  std::atomic<int> writes{0};
  on_threads(3, [&](int me) {
    if (me == 0) {
      for (int i = 0; i < 20; ++i) {
        lock.lock();
        writes.fetch_add(1);
        lock.unlock();
      }
      return;
    }
    while (writes.load(std::memory_order_relaxed) < 20) {
      EXPECT_TRUE(lock.lock_shared_until(prefer_writers, nullptr));
      machine::spin(100);
      lock.unlock_shared();
    }
  });
  EXPECT_EQ(writes.load(), 20);
}

}  // namespace
