// Locks that wait in another way where there are processors to spare, made to believe that there
// are: exclusion and progress, whatever the machine has. How fast it makes them is simulated
// (tests/simulated_engine/convoy.cpp).
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/clh_lock.h>
#include <syncopate/locks/mcs_lock.h>
#include <syncopate/locks/ticket_lock.h>
#include <syncopate/rwlocks/auto_rwlock.h>
#include <syncopate/wait/spin_then_park.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "support.h"

namespace {

using namespace syncopate;
using waits::spin_then_park;

class many_processors {
 public:
  many_processors() : before_(static_cast<int>(machine::processors())) { set(64); }
  ~many_processors() { set(before_); }

 private:
  static void set(int count) { machine::detail::usable_processors.store(count); }
  int before_;
};

// Each thread's sections are short but for some that outlast every poll: waiters poll for long, go
// to sleep, are overtaken, and come back.
template <class Lock>
void expect_exclusion(Lock& lock) {
  constexpr int threads = 6, sections = 150, long_one_in = 29;
  constexpr std::uint64_t longer_than_any_poll = 400'000;  // ticks
  const many_processors claimed;
  int count = 0;
  std::atomic<int> inside{0};
  conformance::on_threads(threads, [&](int first) {
    for (int s = first; s < first + sections; ++s) {
      const std::scoped_lock section(lock);
      EXPECT_EQ(inside.fetch_add(1), 0);
      ++count;
      if (s % long_one_in == 0) {
        const std::uint64_t start = machine::ticks();
        while (machine::ticks() - start < longer_than_any_poll) machine::relax();
      }
      inside.fetch_sub(1);
    }
  });
  EXPECT_EQ(count, threads * sections);
}

template <class Lock>
struct ManyProcessors : ::testing::Test {};
using Locks = ::testing::Types<auto_lock, mcs_lock<spin_then_park>, clh_lock<spin_then_park>,
                               ticket_lock<spin_then_park>, auto_rwlock>;
TYPED_TEST_SUITE(ManyProcessors, Locks);

TYPED_TEST(ManyProcessors, ExcludesWhateverTheWait) {
  TypeParam lock;
  expect_exclusion(lock);
}

}  // namespace
