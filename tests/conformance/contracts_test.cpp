// contracts_test.cpp -- the concepts of lock.h refuse what lacks a part.
#include <syncopate/barriers/all.h>
#include <syncopate/lock.h>
#include <syncopate/locks/all.h>
#include <syncopate/machine.h>
#include <syncopate/rwlocks/auto_rwlock.h>

#include <mutex>
#include <shared_mutex>

#include <gtest/gtest.h>

namespace {

using namespace syncopate;

// Each derives from a lock, and spoils one thing.
struct no_lock : futex_lock {
  void lock() = delete;
};
struct tries_in_vain : futex_lock {
  void try_lock() noexcept {}
};
struct may_throw : futex_lock {
  void unlock() {}
};
struct says_not_whether_held : futex_lock {
  void is_locked() const noexcept {}
};
struct without_traits : private futex_lock {
  using futex_lock::contended, futex_lock::is_locked, futex_lock::lock, futex_lock::try_lock,
      futex_lock::unlock;
};
struct timed_in_name_only : ticket_lock<waits::spin> {
  static constexpr lock_traits traits{.timed = true, .summary = "", .source = ""};
};
struct owner_without_word : futex_lock {
  static constexpr lock_traits traits{
      .glibc_word = false, .keeps_owner = true, .summary = "", .source = ""};
};
struct remembers_in_name_only : futex_lock {
  static constexpr lock_traits traits{.remembers_contention = true, .summary = "", .source = ""};
};
struct copyable {
  static constexpr lock_traits traits{};
  void lock() noexcept {}
  bool try_lock() noexcept { return true; }
  void unlock() noexcept {}
  [[nodiscard]] bool is_locked() const noexcept { return false; }
  [[nodiscard]] bool contended() const noexcept { return false; }
};
static_assert(copyable::traits.excludes && Lock<futex_lock> && Lock<ticket_lock<waits::spin>>);
static_assert(!Lock<no_lock> && !Lock<tries_in_vain> && !Lock<may_throw>);
static_assert(!Lock<says_not_whether_held> && !Lock<without_traits> && !Lock<timed_in_name_only>);
static_assert(!Lock<owner_without_word> && !Lock<remembers_in_name_only> && !Lock<copyable>);
static_assert(!Lock<std::mutex> && !Lock<int> && !Lock<auto_rwlock>);

struct writers_only : auto_rwlock {
  void lock_shared() = delete;
};
static_assert(RwLock<auto_rwlock> && RwLock<std::shared_mutex>);
static_assert(!RwLock<writers_only> && !RwLock<futex_lock> && !RwLock<std::mutex>);

struct for_nobody : futex_barrier<0> {};  // made without a count
struct split_in_name_only : futex_barrier<0> {
  using futex_barrier<0>::futex_barrier;
  static constexpr barrier_traits traits{.split = true, .summary = "", .source = ""};
};
struct drops_in_name_only : futex_barrier<0> {
  using futex_barrier<0>::futex_barrier;
  static constexpr barrier_traits traits{.drop = true, .summary = "", .source = ""};
};
struct wants_numbers : dissemination_barrier<waits::spin> {
  using dissemination_barrier<waits::spin>::dissemination_barrier;
  static constexpr barrier_traits traits{.numbered = false, .summary = "", .source = ""};
};
static_assert(Barrier<futex_barrier<0>> && Barrier<dissemination_barrier<waits::spin>>);
static_assert(!Barrier<for_nobody> && !Barrier<split_in_name_only> && !Barrier<drops_in_name_only>);
static_assert(!Barrier<wants_numbers> && !Barrier<futex_lock>);

static_assert(machine::Machine<std::uint32_t>);

// The catalogues' entries are constrained: this holds once they compile.
TEST(contracts, catalogues_are_not_empty) {
  int locks = 0, barriers = 0;
  for_each_lock([&]<class L>(lock_entry<L>) { locks += Lock<L> ? 1 : 0; });
  for_each_barrier([&]<class B>(barrier_entry<B>) { barriers += Barrier<B> ? 1 : 0; });
  EXPECT_GT(locks, 10);
  EXPECT_GT(barriers, 10);
}

}  // namespace
