// Locks under load: exclusion, progress, the order of FIFO locks, counters that wrap around, and
// destroying a lock as soon as the last unlock lets go of it.
#include <algorithm>
#include <array>
#include <barrier>
#include <cstring>
#include <memory>

#include "every_lock.h"

namespace {

using namespace conformance;

template <class Lock>
auto end_of_line(const Lock& lock) {
  const auto words = words_of(lock);
  std::array<std::uint32_t, alignof(Lock) / sizeof(std::uint32_t)> first;
  std::copy_n(words.begin(), first.size(), first.begin());
  return first;
}

// Queues threads one after another on a held lock, releases it, and expects them in that order.
// A waiter stands in line once it has changed the lock's first member: the number to draw next, or
// the end of the queue.
template <class Lock>
void expect_fifo(Lock& lock) {
  constexpr int waiters = 4;
  std::vector<int> order;
  lock.lock();
  std::vector<std::unique_ptr<observed_thread>> threads;
  for (int i = 0; i < waiters; ++i) {
    const auto before = end_of_line(lock);
    threads.push_back(std::make_unique<observed_thread>([&lock, &order, i] {
      lock.lock();
      order.push_back(i);
      lock.unlock();
    }));
    await([&] { return end_of_line(lock) != before; });
    if constexpr (sleeps<Lock>) threads.back()->await_sleep();
  }
  EXPECT_TRUE(lock.contended());
  lock.unlock();
  for (auto& thread : threads) thread->join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

// Two counters of a ticket lock close to their largest value; other bytes of it as they start.
template <class Lock>
void start_near_wrap_around(Lock& lock) {
  static_assert(sizeof(Lock) >= 2 * sizeof(std::uint32_t));  // a strategy may have a state
  const std::uint32_t counters[2] = {0xffff'fffe, 0xffff'fffe};
  std::memcpy(static_cast<void*>(&lock), counters, sizeof counters);
}

template <class Lock>
inline constexpr bool is_ticket = false;
template <class Wait>
inline constexpr bool is_ticket<syncopate::ticket_lock<Wait>> = true;

constexpr auto with_tickets = []<class Lock>(const syncopate::lock_entry<Lock>&) {
  return is_ticket<Lock>;
};

void expect_exclusion(const lock_kind& kind, int threads) {
  const auto lock = kind.make();
  const load how{.threads = threads, .operations = kind.operations(threads), .seed = test_seed()};
  EXPECT_EQ(check_exclusion(*lock, how), verdict::holds);
  EXPECT_TRUE(lock->try_lock());
  EXPECT_FALSE(lock->contended());
  lock->unlock();
}

// A lock in an object of two owners: the last to leave destroys it, perhaps while the other is on
// its way out of unlock().
template <class Lock>
struct shared_object {
  Lock lock;
  int owners = 2;
};

// Whether the caller was the last owner.
template <class Lock>
bool leave(shared_object<Lock>& object) {
  object.lock.lock();
  const bool last = --object.owners == 0;
  object.lock.unlock();
  return last;
}

constexpr unsigned char poison = 0xa5;

template <class Lock>
void destroy_right_after_unlock() {
  using object = shared_object<Lock>;
  const int rounds = 400 / sanitizer_divisor;  // each takes four changes of turns
  object* current = nullptr;
  std::barrier meet(2);
  int spoiled = 0;
  const auto round = [&](int i) {
    meet.arrive_and_wait();
    object* const mine = current;
    const bool poisoned = i % 2 != 0;
    if (leave(*mine)) {
      // Freed at once, for address sanitizers; or overwritten, to see a late write of the other.
      if (poisoned) std::memset(static_cast<void*>(mine), poison, sizeof(object));
      else delete mine;
    }
    meet.arrive_and_wait();
  };
  on_threads(2, [&](int thread) {
    for (int i = 0; i < rounds; ++i) {
      if (thread == 0) current = new object;
      round(i);
      if (thread != 0 || i % 2 == 0) continue;
      unsigned char bytes[sizeof(object)];
      std::memcpy(bytes, static_cast<const void*>(current), sizeof bytes);
      for (const unsigned char byte : bytes) spoiled += byte != poison ? 1 : 0;
      delete current;
    }
  });
  EXPECT_EQ(spoiled, 0);
}

[[maybe_unused]] const int registered[] = {
    for_every_kind("ExcludesTwoThreads", excludes,
                   [](const lock_kind& kind) { expect_exclusion(kind, 2); }),
    for_every_kind("ExcludesFourThreads", excludes,
                   [](const lock_kind& kind) { expect_exclusion(kind, 4); }),
    for_every_kind("ExcludesManyThreads", excludes_asleep,
                   [](const lock_kind& kind) { expect_exclusion(kind, 16); }),
    for_every_lock("ServesInOrderOfArrival", fifo,
                   []<class Lock>() {
                     Lock lock;
                     for (int i = 0; i < 3; ++i) expect_fifo(lock);
                   }),
    for_every_lock("CountersWrapAround", with_tickets,
                   []<class Lock>() {
                     Lock lock;
                     start_near_wrap_around(lock);
                     EXPECT_TRUE(lock.try_lock());
                     EXPECT_FALSE(lock.try_lock());
                     EXPECT_FALSE(lock.contended());
                     lock.unlock();
                     EXPECT_TRUE(lock.try_lock());
                     lock.unlock();
                     start_near_wrap_around(lock);
                     expect_fifo(lock);
                     start_near_wrap_around(lock);
                     EXPECT_EQ(check_exclusion(lock, {.operations = 200}), verdict::holds);
                   }),
    for_every_lock("MayBeDestroyedRightAfterUnlock", excluding,
                   []<class Lock>() { destroy_right_after_unlock<Lock>(); }),
};

}  // namespace
