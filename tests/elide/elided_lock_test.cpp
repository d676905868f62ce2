// Elided locks on this machine, whatever it can: where transactions do not commit, they are the
// locks inside. What happens where they do: test_elision.py.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <syncopate/elide/elided_rwlock.h>
#include <syncopate/locks/all.h>
#include <syncopate/machine/probe.h>

namespace {

using namespace syncopate::elide;
namespace machine = syncopate::machine;

// Puts the mode back.
class Elision : public ::testing::Test {
 protected:
  ~Elision() override { set_mode(mode::automatic); }
};

TEST_F(Elision, SelfTestAgreesWithTheProbe) {
  EXPECT_EQ(machine::htm::commits(), machine::usable("rtm"));
}

TEST_F(Elision, IsOffWhereNothingCommits) {
  const mode possible = machine::htm::commits() ? mode::always : mode::off;
  EXPECT_EQ(set_mode(mode::always), possible);
  EXPECT_EQ(control::now(), possible);
  EXPECT_EQ(control::is_off(), possible == mode::off);
  EXPECT_EQ(set_mode(mode::off), mode::off);
  EXPECT_TRUE(control::is_off());
}

// The environment as the first lock would find it.
mode read_environment(const char* value) {
  if (value != nullptr) ::setenv("SYNCOPATE_ELIDE", value, 1);
  else ::unsetenv("SYNCOPATE_ELIDE");
  const mode result = control::detail::mode_from_environment();
  ::unsetenv("SYNCOPATE_ELIDE");
  return result;
}

TEST_F(Elision, ReadsTheEnvironment) {
  EXPECT_EQ(read_environment(nullptr), mode::automatic);
  EXPECT_EQ(read_environment(""), mode::automatic);
  EXPECT_EQ(read_environment("auto"), mode::automatic);
  EXPECT_EQ(read_environment("off"), mode::off);
}

TEST_F(Elision, TellsOfBadSettingsInOneLine) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(read_environment("on"), mode::automatic);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "syncopate: SYNCOPATE_ELIDE=on: no such mode; auto, always and off are\n");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(read_environment(std::string(1000, 'x').c_str()), mode::automatic);
  EXPECT_LT(::testing::internal::GetCapturedStderr().size(), 120u);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(read_environment("always"), mode::always);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            machine::htm::commits() ? ""
                                    : "syncopate: SYNCOPATE_ELIDE=always: transactions never "
                                      "commit on this machine; locks are taken\n");
}

TEST_F(Elision, CostsNoSpace) {
  using fall_back = syncopate::tatas_lock<syncopate::waits::spin>;
  EXPECT_EQ(sizeof(elided_lock<fall_back>), sizeof(fall_back));
  EXPECT_EQ(sizeof(elided_rwlock<>), sizeof(syncopate::auto_rwlock));
  EXPECT_LE(sizeof(elided_lock<fall_back, policies::adaptive>), 2 * sizeof(fall_back));
}

// Every lock of the list, elided in every mode, and the mode changed all the time.
TEST_F(Elision, ExcludesWhateverTheMode) {
  syncopate::for_each_lock([]<class Lock>(const syncopate::lock_entry<Lock>& entry) {
    if constexpr (Lock::traits.excludes && !Lock::traits.collapses) {
      elided_lock<Lock, policies::adaptive> lock;
      long count = 0;
      constexpr int rounds = 500;
      {
        std::jthread one([&] {
          for (int i = 0; i < rounds; ++i) {
            lock.lock();
            ++count;
            lock.unlock();
          }
        });
        for (int i = 0; i < rounds; ++i) {
          set_mode(i % 2 == 0 ? mode::automatic : mode::off);
          while (!lock.try_lock()) machine::yield();
          ++count;
          lock.unlock();
        }
      }
      EXPECT_EQ(count, 2 * rounds) << entry.name;
      EXPECT_FALSE(lock.is_locked()) << entry.name;
    }
  });
}

TEST_F(Elision, RwlockExcludesWritersAndSharesReaders) {
  elided_rwlock<> lock;
  long first = 0, second = 0, torn = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          lock.lock();
          ++first, ++second;
          lock.unlock();
          lock.lock_shared();
          if (first != second) ++torn;
          lock.unlock_shared();
        }
      });
  }
  EXPECT_EQ(first, 1500);
  EXPECT_EQ(torn, 0);
  lock.lock_shared();
  std::jthread([&] {
    EXPECT_TRUE(lock.try_lock_shared());
    lock.unlock_shared();
    EXPECT_FALSE(lock.try_lock());
  }).join();
  lock.unlock_shared();
}

TEST_F(Elision, TimedFormTimesOut) {
  elided_lock<syncopate::auto_lock> lock;
  set_mode(mode::off);
  lock.lock();
  std::jthread([&] { EXPECT_FALSE(lock.lock_until(machine::after(1'000'000))); }).join();
  lock.unlock();
  EXPECT_TRUE(lock.lock_until(machine::after(1'000'000)));
  lock.unlock();
}

}  // namespace
