// any_lock: every lock by its name, and what a wrong name gives.
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <syncopate/locks/any_lock.h>

#include "checks.h"
#include "every_lock.h"

namespace {

using namespace conformance;
using syncopate::any_lock;

static_assert(sizeof(any_lock) == 64 && alignof(any_lock) == 64);
static_assert(!std::is_copy_constructible_v<any_lock> && !std::is_move_constructible_v<any_lock>);
static_assert(!std::is_copy_assignable_v<any_lock> && !std::is_move_assignable_v<any_lock>);
static_assert(noexcept(any_lock::is_name("auto")));

// The text of the exception that a name gives; "" if it gives a lock.
std::string refusal_of(std::string_view name) {
  try {
    any_lock lock(name);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

std::string full_name(std::string_view name, std::string_view wait) {
  return std::string(name) + (wait.empty() ? "" : ":") + std::string(wait);
}

// What the catalogue says of each lock.
struct entry {
  std::string_view name, wait;
  bool is_default;
  syncopate::lock_traits traits;
};

std::vector<entry> every_entry() {
  std::vector<entry> all;
  syncopate::for_each_lock([&]<class Lock>(const syncopate::lock_entry<Lock>& each) {
    all.push_back({each.name, each.wait, each.is_default, Lock::traits});
  });
  return all;
}

TEST(AnyLock, IsEveryLockByItsFullName) {
  for (const entry& each : every_entry()) {
    const std::string name = full_name(each.name, each.wait);
    SCOPED_TRACE(name);
    ASSERT_TRUE(any_lock::is_name(name));
    any_lock lock(name);
    EXPECT_EQ(lock.name(), each.name);
    EXPECT_EQ(lock.wait(), each.wait);
    EXPECT_EQ(lock.traits().summary, each.traits.summary);
    EXPECT_EQ(lock.traits().excludes, each.traits.excludes);
    lock.lock();
    EXPECT_NE(lock.try_lock(), each.traits.excludes);
    EXPECT_FALSE(lock.contended());
    lock.unlock();
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
  }
}

TEST(AnyLock, TheNameAloneMeansTheDefaultStrategy) {
  for (const entry& each : every_entry()) {
    if (!each.is_default) continue;
    any_lock lock(each.name);
    EXPECT_EQ(lock.name(), each.name);
    EXPECT_EQ(lock.wait(), each.wait);
  }
}

TEST(AnyLock, Excludes) {
  for (const entry& each : every_entry()) {
    if (!each.traits.excludes) continue;
    any_lock lock(full_name(each.name, each.wait));
    EXPECT_EQ(check_exclusion(lock, {.operations = 100}), verdict::holds) << each.name;
  }
}

TEST(AnyLock, TellsOfASleepingWaiter) {
  any_lock lock("mcs:park");
  lock.lock();
  observed_thread waiter([&] { std::scoped_lock guard(lock); });
  waiter.await_sleep();
  EXPECT_TRUE(lock.contended());
  lock.unlock();
}

TEST(AnyLock, LocksOfDifferentKindsGoTogether) {
  any_lock first("ticket:park"), second("auto");
  {
    std::scoped_lock both(first, second);
    EXPECT_FALSE(first.try_lock());
    EXPECT_FALSE(second.try_lock());
  }
  std::unique_lock guard(first, std::try_to_lock);
  EXPECT_TRUE(guard.owns_lock());
}

TEST(AnyLock, RefusesWhatIsNoName) {
  for (const char* name : {"", ":", "auto:", "auto:spin", "ticket:", "ticket:sleep", "ticket :spin",
                           "Ticket", "tickets", "mcs:spin:", ":spin", "glibc"}) {
    EXPECT_FALSE(any_lock::is_name(name)) << name;
    EXPECT_NE(refusal_of(name), "") << name;
  }
}

TEST(AnyLock, ARefusalListsTheNearNames) {
  EXPECT_EQ(refusal_of("tikcet"), "no lock is called 'tikcet'; near names: ticket");
  EXPECT_EQ(refusal_of("ticket:sipn"),
            "no lock is called 'ticket:sipn'; near names: ticket, ticket:spin_then_park, "
            "ticket:adaptive, ticket:park, ticket:yield, ticket:spin, ticket:speculate");
  EXPECT_EQ(refusal_of("auto:park"), "no lock is called 'auto:park'; near names: auto");
}

}  // namespace
