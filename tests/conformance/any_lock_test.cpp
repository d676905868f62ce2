// any_lock: every lock by its name, and what a wrong name gives.
#include <mutex>
#include <stdexcept>
#include <type_traits>

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

TEST(AnyLock, IsEveryLockByItsFullName) {
  syncopate::for_each_lock([]<class Lock>(const syncopate::lock_entry<Lock>& entry) {
    const std::string name = full_name(entry.name, entry.wait);
    SCOPED_TRACE(name);
    ASSERT_TRUE(any_lock::is_name(name));
    any_lock lock(name);
    EXPECT_EQ(lock.name(), entry.name);
    EXPECT_EQ(lock.wait(), entry.wait);
    EXPECT_EQ(lock.traits().summary, Lock::traits.summary);
    EXPECT_EQ(lock.traits().excludes, Lock::traits.excludes);
    lock.lock();
    EXPECT_NE(lock.try_lock(), Lock::traits.excludes);
    EXPECT_FALSE(lock.contended());
    lock.unlock();
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
  });
}

TEST(AnyLock, TheNameAloneMeansTheDefaultStrategy) {
  syncopate::for_each_lock([]<class Lock>(const syncopate::lock_entry<Lock>& entry) {
    if (!entry.is_default) return;
    any_lock lock(entry.name);
    EXPECT_EQ(lock.name(), entry.name);
    EXPECT_EQ(lock.wait(), entry.wait);
  });
}

TEST(AnyLock, Excludes) {
  syncopate::for_each_lock([]<class Lock>(const syncopate::lock_entry<Lock>& entry) {
    if (!Lock::traits.excludes) return;
    any_lock lock(full_name(entry.name, entry.wait));
    EXPECT_EQ(check_exclusion(lock, {.operations = 100}), verdict::holds) << entry.name;
  });
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
