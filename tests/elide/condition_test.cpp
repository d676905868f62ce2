// The transaction-aware condition variable with real threads: no wake-up is lost, whatever the lock
// and the variant; time-outs; destruction by a thread that was woken.
#include <gtest/gtest.h>
#include <syncopate/elide/condition.h>
#include <syncopate/elide/elided_lock.h>
#include <syncopate/elide/lockset.h>
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/futex_lock.h>
#include <syncopate/locks/mcs_lock.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace syncopate::elide;
using namespace std::chrono_literals;
using syncopate::cv_status;

template <class Lock, wait_variant Variant>
struct kind {
  using lock = Lock;
  static constexpr wait_variant variant = Variant;
};
using elided = elided_lock<syncopate::futex_lock>;

template <class Kind>
class Condition : public ::testing::Test {};
using kinds = ::testing::Types<
    kind<elided, wait_variant::transaction_aware>, kind<elided, wait_variant::abort>,
    kind<elided, wait_variant::busy_wait>,
    kind<syncopate::auto_lock, wait_variant::transaction_aware>,
    kind<syncopate::mcs_lock<syncopate::waits::park>, wait_variant::transaction_aware>>;
TYPED_TEST_SUITE(Condition, kinds);

TYPED_TEST(Condition, PassesEveryItem) {
  typename TypeParam::lock lock;
  basic_condition<TypeParam::variant> changed;
  int available = 0, taken = 0;
  constexpr int items = 100;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < items; ++i) {
          const std::lock_guard hold(lock);
          changed.wait(lock, [&] { return available > 0; });
          --available;
          ++taken;
          changed.notify_all();
        }
      });
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < items; ++i) {
          const std::lock_guard hold(lock);
          changed.wait(lock, [&] { return available < 3; });
          ++available;
          changed.notify_all();
        }
      });
  }
  EXPECT_EQ(available, 0);
  EXPECT_EQ(taken, 2 * items);
}

TYPED_TEST(Condition, TimesOut) {
  typename TypeParam::lock lock;
  basic_condition<TypeParam::variant> never;
  const std::lock_guard hold(lock);
  const auto until = syncopate::machine::after(2'000'000);
  while (never.wait_until(lock, until) != cv_status::timed_out) {
  }
  EXPECT_LE(syncopate::machine::remaining(until), 0);
  EXPECT_FALSE(never.wait_until(lock, until, [] { return false; }));
  EXPECT_TRUE(never.wait_until(lock, until, [] { return true; }));
}

TYPED_TEST(Condition, IsDestroyedByTheWokenThread) {
  for (int round = 0; round < 50; ++round) {
    struct shared {
      typename TypeParam::lock lock;
      basic_condition<TypeParam::variant> ready;
      bool set = false;
    };
    auto s = std::make_unique<shared>();
    shared* const raw = s.get();
    std::jthread signaler([raw] {
      const std::lock_guard hold(raw->lock);
      raw->set = true;
      raw->ready.notify_all();
    });
    {
      const std::lock_guard hold(s->lock);
      s->ready.wait(s->lock, [&] { return s->set; });
    }
    // The signaler may still be in its unlock(): the lock's owner waits for that, not for signals.
    signaler.join();
    s.reset();
  }
}

TEST(ConditionInLockset, WaitsForBothLocks) {
  elided a, b;
  condition changed;
  bool ready = false;
  std::jthread waiter([&] {
    lockset both(a, b);
    const std::lock_guard hold(both);
    changed.wait(both, [&] { return ready; });
  });
  {
    const std::lock_guard hold(b);
    ready = true;
    changed.notify_one();
  }
  waiter.join();
  EXPECT_FALSE(a.is_locked() || b.is_locked());
}

TEST(ConditionNotify, OneWakesOne) {
  syncopate::futex_lock lock;
  condition changed;
  int waiting = 0, tickets = 0, gone = 0;
  std::vector<std::jthread> waiters;
  for (int t = 0; t < 3; ++t)
    waiters.emplace_back([&] {
      const std::lock_guard hold(lock);
      ++waiting;
      changed.wait(lock, [&] { return tickets > 0; });
      --tickets;
      ++gone;
    });
  for (int expected = 1; expected <= 3; ++expected) {
    for (bool woken = false; !woken; std::this_thread::yield()) {
      const std::lock_guard hold(lock);
      if (waiting == 3 && gone == expected - 1 && tickets == 0) {
        ++tickets;
        changed.notify_one();
        woken = true;
      }
    }
  }
  waiters.clear();
  EXPECT_EQ(gone, 3);
}

}  // namespace
