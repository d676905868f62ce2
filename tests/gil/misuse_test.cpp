// The interpreter lock where transactions never commit, and in the hands of buggy runtimes.
#include <syncopate/elide/gil.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace syncopate::elide;

// A machine whose transactions never are.
struct no_transactions : gil_machine_backend {
  static bool usable() noexcept { return false; }
};
using plain_gil = gil<syncopate::auto_lock, no_transactions>;

struct fixture {
  std::unique_ptr<plain_gil> lock = std::make_unique<plain_gil>(gil_options{.slice = 1, .look = 8});
  gil_thread me{};
  const void* here = &me;
};

TEST(Gil, WithoutTransactionsIsALock) {
  fixture f;
  EXPECT_FALSE(f.lock->elides());
  long counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      gil_thread me{};
      ASSERT_EQ(f.lock->attach(me), 0);
      ASSERT_EQ(f.lock->enter(me, f.here), 0);
      for (int i = 0; i < 20000; ++i) {
        counter = counter + 1;
        ASSERT_EQ(f.lock->yield(me, f.here), 0);
      }
      ASSERT_EQ(f.lock->leave(me), 0);
      ASSERT_EQ(f.lock->detach(me), 0);
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(counter, 80000);
}

TEST(Gil, YieldWithoutEnteringIsAnError) {
  fixture f;
  EXPECT_EQ(f.lock->yield(f.me, f.here), EPERM);
  ASSERT_EQ(f.lock->attach(f.me), 0);
  EXPECT_EQ(f.lock->yield(f.me, f.here), EPERM);
  EXPECT_EQ(f.lock->needs_lock(f.me), EPERM);
  EXPECT_EQ(f.lock->enter(f.me, f.here), 0);  // and nothing is broken
  EXPECT_EQ(f.lock->yield(f.me, f.here), 0);
  EXPECT_EQ(f.lock->leave(f.me), 0);
  EXPECT_EQ(f.lock->yield(f.me, f.here), EPERM);
}

TEST(Gil, LeavingTwiceIsAnError) {
  fixture f;
  ASSERT_EQ(f.lock->attach(f.me), 0);
  ASSERT_EQ(f.lock->enter(f.me, f.here), 0);
  EXPECT_EQ(f.lock->leave(f.me), 0);
  EXPECT_EQ(f.lock->leave(f.me), EPERM);
  EXPECT_EQ(f.lock->enter(f.me, f.here), 0);
  EXPECT_EQ(f.lock->enter(f.me, f.here), EDEADLK);
  EXPECT_EQ(f.lock->leave(f.me), 0);
}

TEST(Gil, AttachingAndDetachingOutOfTurnIsAnError) {
  fixture f;
  EXPECT_EQ(f.lock->enter(f.me, f.here), EPERM);
  EXPECT_EQ(f.lock->detach(f.me), EPERM);
  EXPECT_EQ(f.lock->attach(f.me), 0);
  EXPECT_EQ(f.lock->attach(f.me), EDEADLK);
  EXPECT_EQ(f.lock->enter(f.me, f.here), 0);
  EXPECT_EQ(f.lock->detach(f.me), EPERM);
  EXPECT_EQ(f.lock->leave(f.me), 0);
  EXPECT_EQ(f.lock->detach(f.me), 0);
}

TEST(Gil, MisuseIsToldOnce) {
  fixture f;
  testing::internal::CaptureStderr();
  EXPECT_EQ(f.lock->leave(f.me), EPERM);
  EXPECT_EQ(f.lock->leave(f.me), EPERM);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("left by a thread that is not inside"), std::string::npos);
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1);
}

// Runs in a child; returns what it exits with.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Gil, WhoForksInsideIsInsideInTheChild) {
  fixture f;
  ASSERT_EQ(f.lock->attach(f.me), 0);
  ASSERT_EQ(f.lock->enter(f.me, f.here), 0);
  EXPECT_EQ(in_child([&] {
              for (int i = 0; i < 100; ++i)
                if (f.lock->yield(f.me, f.here) != 0) return 1;
              if (f.lock->leave(f.me) != 0) return 2;
              return f.lock->enter(f.me, f.here);
            }),
            0);
  EXPECT_EQ(f.lock->leave(f.me), 0);
}

// Whoever locks it stays in it, once asked to, until told to go on.
struct lingering_lock : syncopate::auto_lock {
  static inline std::atomic<int> stage{0};  // 1: asked, 2: there, 3: told
  void lock() noexcept {
    auto_lock::lock();
    int asked = 1;
    if (!stage.compare_exchange_strong(asked, 2)) return;
    while (stage != 3) std::this_thread::yield();
  }
};

TEST(Gil, WhatOthersCountedAtAForkIsNotWaitedFor) {
  using lingering_gil = gil<syncopate::auto_lock, no_transactions, lingering_lock>;
  const auto lock = std::make_unique<lingering_gil>(gil_options{});
  for (const bool inside : {true, false}) {
    gil_thread me{};
    ASSERT_EQ(lock->attach(me), 0);
    if (inside) {
      ASSERT_EQ(lock->enter(me, &me), 0);
    }
    lingering_lock::stage = 1;
    std::thread other([&] {
      gil_thread its{};
      ASSERT_EQ(lock->attach(its), 0);
      ASSERT_EQ(lock->detach(its), 0);
    });
    while (lingering_lock::stage != 2) std::this_thread::yield();
    EXPECT_EQ(in_child([&] {
                alarm(20);  // ends it if it hangs
                if (inside && lock->leave(me) != 0) return 1;
                return lock->detach(me);
              }),
              0);
    lingering_lock::stage = 3;
    other.join();
    if (inside) {
      ASSERT_EQ(lock->leave(me), 0);
    }
    ASSERT_EQ(lock->detach(me), 0);
  }
}

TEST(Gil, WhoForksOutsideWhileAnotherIsInsideCannotEnter) {
  fixture f;
  ASSERT_EQ(f.lock->attach(f.me), 0);
  gil_thread other{};
  std::atomic<int> stage{0};
  std::thread holder([&] {
    ASSERT_EQ(f.lock->attach(other), 0);
    ASSERT_EQ(f.lock->enter(other, f.here), 0);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
    ASSERT_EQ(f.lock->leave(other), 0);
    ASSERT_EQ(f.lock->detach(other), 0);
  });
  while (stage != 1) std::this_thread::yield();
  EXPECT_EQ(in_child([&] { return f.lock->enter(f.me, f.here); }), EOWNERDEAD);
  stage = 2;
  holder.join();
  EXPECT_EQ(in_child([&] { return f.lock->enter(f.me, f.here); }), 0);  // nobody is inside
}

// In a child, by a thread that was not there before. Returns 0, or what enter() says.
int enter_as_newcomer(plain_gil& lock, int* counter = nullptr) {
  int result = -1;
  std::thread newcomer([&] {
    gil_thread me{};
    if (lock.attach(me) != 0) return;
    result = lock.enter(me, &me);
    if (result == 0) {
      for (int i = 0; counter != nullptr && i < 1000; ++i) {
        *counter = *counter + 1;
        (void)lock.yield(me, &me);
      }
      (void)lock.leave(me);
    } else if (lock.enter(me, &me) != result) {
      result = -2;  // it says so each time
    }
    if (lock.detach(me) != 0) result = -3;
  });
  newcomer.join();
  return result;
}

// Who forks has never used the lock; so has, in the child, nobody.
TEST(Gil, ThreadsOfAChildThatAStrangerForkedAreToldOfADeadHolder) {
  fixture f;
  ASSERT_EQ(f.lock->attach(f.me), 0);
  auto fork_beside = [&](bool twice) {
    int status = -1;
    std::thread stranger([&] {
      status = in_child([&] {
        alarm(20);  // ends it if it hangs
        return twice ? in_child([&] { return alarm(20), enter_as_newcomer(*f.lock); })
                     : enter_as_newcomer(*f.lock);
      });
    });
    stranger.join();
    return status;
  };
  for (const bool twice : {false, true}) {
    ASSERT_EQ(f.lock->enter(f.me, f.here), 0);
    EXPECT_EQ(fork_beside(twice), EOWNERDEAD);
    ASSERT_EQ(f.lock->leave(f.me), 0);
    EXPECT_EQ(fork_beside(twice), 0);  // nobody is inside
  }
}

TEST(Gil, ThreadsOfAChildWaitForTheOneThatForkedInside) {
  fixture f;
  ASSERT_EQ(f.lock->attach(f.me), 0);
  ASSERT_EQ(f.lock->enter(f.me, f.here), 0);
  auto both = [&] {
    alarm(20);
    int counter = 0;
    int results[2] = {-1, -1};
    std::thread newcomers[2];
    for (int t = 0; t < 2; ++t)
      newcomers[t] = std::thread([&, t] { results[t] = enter_as_newcomer(*f.lock, &counter); });
    usleep(50000);  // they wait
    if (counter != 0) return 1;
    for (int i = 0; i < 1000; ++i) {
      counter = counter + 1;
      if (f.lock->yield(f.me, f.here) != 0) return 2;
    }
    if (f.lock->leave(f.me) != 0) return 3;
    for (std::thread& each : newcomers) each.join();
    if (f.lock->enter(f.me, f.here) != 0) return 4;
    return results[0] == 0 && results[1] == 0 && counter == 3000 ? 0 : 5;
  };
  EXPECT_EQ(in_child(both), 0);
  EXPECT_EQ(f.lock->leave(f.me), 0);
}

}  // namespace
