// condition_variable: no signal is lost, none goes to the wrong waiter, and it may be destroyed as
// soon as everybody has been woken.
#include <barrier>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <new>

#include <syncopate/condition/condition_variable.h>
#include <syncopate/locks/all.h>

#include "support.h"

namespace {

using namespace conformance;
using syncopate::condition_variable;
using syncopate::cv_status;

template <class Lock>
class ConditionVariable : public ::testing::Test {};
using mutexes = ::testing::Types<syncopate::auto_lock, syncopate::futex_lock,
                                 syncopate::ticket_lock<syncopate::waits::park>,
                                 syncopate::mcs_lock<syncopate::waits::spin_then_park>,
                                 syncopate::clh_lock<syncopate::waits::yield>, std::mutex>;
TYPED_TEST_SUITE(ConditionVariable, mutexes);

TYPED_TEST(ConditionVariable, PingPongLosesNoWakeUp) {
  constexpr int rounds = 3000 / sanitizer_divisor;
  TypeParam mutex;
  condition_variable changed[2];
  int turn = 0, count = 0;
  on_threads(2, [&](int me) {
    for (int i = 0; i < rounds; ++i) {
      mutex.lock();
      changed[me].wait(mutex, [&] { return turn == me; });
      ++count;
      turn = 1 - me;
      if (i % 2 == 0) changed[turn].notify_one();  // with the mutex held, and without
      mutex.unlock();
      if (i % 2 != 0) changed[1 - me].notify_one();
    }
  });
  EXPECT_EQ(count, 2 * rounds);
  EXPECT_TRUE(changed[0].empty() && changed[1].empty());
}

// Threads that wait on one condition variable, each enlisted before the next one starts.
template <class Lock>
struct waiting_threads {
  explicit waiting_threads(int count) {
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([this, i] {
        std::scoped_lock guard(mutex);
        ++enlisted;
        condition.wait(mutex);
        order.push_back(i);
      });
      // The waiter gives the mutex away once it stands in the list.
      await([this, i] {
        std::scoped_lock guard(mutex);
        return enlisted == i + 1;
      });
    }
  }
  std::size_t woken() {
    std::scoped_lock guard(mutex);
    return order.size();
  }

  Lock mutex;
  condition_variable condition;
  int enlisted = 0;
  std::vector<int> order;
  std::vector<std::jthread> threads;
};

TYPED_TEST(ConditionVariable, SignalsInOrderOfArrival) {
  waiting_threads<TypeParam> waiters(4);
  EXPECT_FALSE(waiters.condition.empty());
  for (std::size_t i = 1; i <= 4; ++i) {
    waiters.condition.notify_one();
    await([&] { return waiters.woken() == i; });
  }
  EXPECT_TRUE(waiters.condition.empty());
  EXPECT_EQ(waiters.order, (std::vector<int>{0, 1, 2, 3}));
}

TYPED_TEST(ConditionVariable, NotifyOneWakesOne) {
  waiting_threads<TypeParam> waiters(3);
  waiters.condition.notify_one();
  await([&] { return waiters.woken() == 1; });
  sleep_ms(5);
  EXPECT_EQ(waiters.woken(), 1u);
  waiters.condition.notify_all();
}

TYPED_TEST(ConditionVariable, NotifyAllWakesAll) {
  waiting_threads<TypeParam> waiters(6);
  waiters.condition.notify_all();
  EXPECT_TRUE(waiters.condition.empty());
  waiters.threads.clear();  // joins
  EXPECT_EQ(waiters.order.size(), 6u);
}

TYPED_TEST(ConditionVariable, TimesOutNotEarly) {
  TypeParam mutex;
  condition_variable condition;
  std::scoped_lock guard(mutex);
  for (const clockid_t clock : both_clocks) {
    const machine::deadline until = in(10 * millisecond, clock);
    EXPECT_EQ(condition.wait_until(mutex, until), cv_status::timed_out);
    EXPECT_LE(machine::remaining(until), 0);
    EXPECT_EQ(condition.wait_until(mutex, in(-millisecond, clock)), cv_status::timed_out);
  }
  EXPECT_EQ(condition.wait_for(mutex, std::chrono::milliseconds(2)), cv_status::timed_out);
  EXPECT_EQ(condition.wait_for(mutex, std::chrono::seconds(-1)), cv_status::timed_out);
  EXPECT_TRUE(condition.empty());
}

TEST(DeadlineAfter, IsAsFarAwayAsAsked) {
  using namespace std::chrono;
  constexpr auto infinite = std::numeric_limits<double>::infinity();
  constexpr auto soon = [](auto time) {
    return machine::remaining(syncopate::deadline_after(time)) < 1'000'000'000;
  };
  EXPECT_FALSE(soon(hours::max()) || soon(seconds::max()) || soon(nanoseconds::max()));
  EXPECT_FALSE(soon(hours(24 * 365 * 300)) || soon(duration<double>(1e300)));
  EXPECT_FALSE(soon(duration<float>(infinite)) || soon(minutes(1)));
  EXPECT_TRUE(soon(hours::min()) && soon(seconds(0)) && soon(duration<double>(-infinite)));
  EXPECT_TRUE(soon(duration<double>(std::numeric_limits<double>::quiet_NaN())));
}

TYPED_TEST(ConditionVariable, IsSignaledBeforeItsDeadline) {
  TypeParam mutex;
  condition_variable condition;
  bool ready = false;
  cv_status result = cv_status::timed_out;
  {
    observed_thread waiter([&] {
      std::scoped_lock guard(mutex);
      while (!ready) result = condition.wait_for(mutex, std::chrono::hours::max());
    });
    waiter.await_sleep();
    std::scoped_lock guard(mutex);
    ready = true;
    condition.notify_one();
  }
  EXPECT_EQ(result, cv_status::signaled);
}

// A waiter that times out just when it is signaled must report the signal, or leave it to others:
// tokens are handed out one signal each, so each signal that vanished would leave a token behind.
TYPED_TEST(ConditionVariable, TimeOutsTakeNoSignalAway) {
  const std::uint32_t seed = test_seed();
  constexpr int tokens = 2000 / sanitizer_divisor, consumers = 3;
  TypeParam mutex;
  condition_variable condition;
  int available = 0, taken = 0;
  on_threads(consumers + 1, [&](int me) {
    random_source random = random_of(seed, me);
    if (me == consumers) {
      for (int i = 0; i < tokens; ++i) {
        mutex.lock();
        ++available;
        mutex.unlock();
        condition.notify_one();
        machine::spin(below(random, 300));
      }
      mutex.lock();
      available += consumers;  // one to end each consumer
      mutex.unlock();
      condition.notify_all();
      return;
    }
    for (bool last = false; !last;) {
      std::scoped_lock guard(mutex);
      while (available == 0) {
        // The last consumer has no deadline: it depends on the signals alone.
        if (me == 0) condition.wait(mutex);
        else (void)condition.wait_until(mutex, in(below(random, 100'000)));
      }
      --available;
      last = ++taken > tokens;
    }
  });
  EXPECT_EQ(taken, tokens + consumers);
}

// A condition variable of many lives in one place. A dead one holds a pattern, so that a late use
// of it shows; in between the memory is not the test's alone, so it is written by atomics only.
class mortal {
 public:
  mortal() { revive(); }
  ~mortal() { std::destroy_at(&**this); }
  mortal(const mortal&) = delete;
  mortal& operator=(const mortal&) = delete;

  condition_variable& operator*() {
    return *std::launder(reinterpret_cast<condition_variable*>(words_));
  }
  condition_variable* operator->() { return &**this; }
  void bury() {
    std::destroy_at(&**this);
    fill(0xa5a5'a5a5);
  }
  // Requires: buried, or never alive.
  void revive() { ::new (static_cast<void*>(words_)) condition_variable; }
  [[nodiscard]] bool is_disturbed() const {
    for (const std::uint32_t word : words_of(words_))
      if (word != 0xa5a5'a5a5) return true;
    return false;
  }

 private:
  void fill(std::uint32_t pattern) {
    for (std::uint32_t& word : words_) __atomic_store_n(&word, pattern, __ATOMIC_RELAXED);
  }
  alignas(condition_variable) std::uint32_t words_[sizeof(condition_variable) / 4];
};

// The notifier destroys the condition variable right after it has woken everybody, while those
// woken are still on their way out of wait() -- or out of a wait that times out at just that
// moment.
template <class Lock>
void destroy_after_broadcast(bool with_deadlines) {
  const std::uint32_t seed = test_seed();
  const int rounds = 400 / sanitizer_divisor;
  constexpr int waiters = 4;  // more than processors: some come late out of the kernel
  Lock mutex;
  mortal condition;
  machine::deadline until;
  int waiting = 0;
  bool over = false;  // as `waiting` guarded by mutex
  std::atomic<int> left{0};
  std::barrier meet(waiters + 1);
  const auto wait = [&](random_source& random) {
    mutex.lock();
    ++waiting;
    if (with_deadlines) (void)condition->wait_until(mutex, until);
    while (!over)
      if (with_deadlines) (void)condition->wait_until(mutex, in(below(random, 60'000)));
      else condition->wait(mutex);
    mutex.unlock();
    left.fetch_add(1);
  };
  const auto wake = [&](random_source& random) {
    await([&] {
      std::scoped_lock guard(mutex);
      return waiting == waiters;
    });
    // Sleepers come back about the kernel's timer slack (50 us) after their deadline.
    const std::int64_t late = below(random, 100'000);
    if (with_deadlines) await([&] { return machine::remaining(until) <= -late; });
    mutex.lock();
    over = true;
    condition->notify_all();
    mutex.unlock();
    condition.bury();
    await([&] {
      if (!condition.is_disturbed()) return left.load() == waiters;
      std::fprintf(stderr, "used after its destruction: SEED=%u\n", seed);
      std::abort();
    });
  };
  on_threads(waiters + 1, [&](int me) {
    random_source random = random_of(seed, me);
    for (int i = 0; i < rounds; ++i) {
      if (me == waiters) {
        if (i != 0) condition.revive();
        until = in(100'000);
        waiting = 0;
        over = false;
        left.store(0);
      }
      meet.arrive_and_wait();
      me == waiters ? wake(random) : wait(random);
      meet.arrive_and_wait();
    }
  });
  condition.revive();  // its last life ends with this function
  EXPECT_EQ(left.load(), waiters);
}

TYPED_TEST(ConditionVariable, MayBeDestroyedRightAfterBroadcast) {
  destroy_after_broadcast<TypeParam>(false);
}

TYPED_TEST(ConditionVariable, MayBeDestroyedWhileDeadlinesPass) {
  destroy_after_broadcast<TypeParam>(true);
}

}  // namespace
