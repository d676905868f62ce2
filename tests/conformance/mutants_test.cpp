// Can the suite fail? Three locks with a classic defect each; the checks that every real lock
// passes have to tell.
#include "checks.h"

namespace {

using namespace conformance;

// Tests and sets in two steps: another thread may come between them.
class non_atomic_lock {
 public:
  void lock() {
    while (held_.load(std::memory_order_acquire)) machine::yield();
    machine::yield();  // widens the window
    held_.store(true, std::memory_order_relaxed);
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

// Releases without waking who sleeps.
class silent_futex_lock {
 public:
  void lock() {
    std::uint32_t expected = 0;
    if (word_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return;
    while (word_.exchange(2, std::memory_order_acquire) != 0) machine::park(word_, 2);
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2 && rescued_.load())
      machine::wake(&word_, 1);
  }
  // From now on unlock() wakes; frees those who sleep by mistake.
  void rescue() {
    rescued_.store(true);
    machine::wake(&word_, INT32_MAX);
  }

 private:
  std::atomic<std::uint32_t> word_{0};
  std::atomic<bool> rescued_{false};
};

// Calls two numbers at once when two threads or more wait.
class double_serving_lock {
 public:
  void lock() {
    const std::int32_t mine = next_.fetch_add(1);
    while (serving_.load() - mine < 0) machine::yield();
  }
  void unlock() { serving_.fetch_add(next_.load() - serving_.load() > 2 ? 2 : 1); }

 private:
  std::atomic<std::int32_t> next_{0}, serving_{0};
};

template <class Lock, class Rescue>
verdict check_mutant(Lock& lock, const load& how, Rescue rescue) {
  return check_with<racy_data>(
      lock, how,
      [](Lock& l, random_source&) {
        l.lock();
        return true;
      },
      rescue);
}

// Threads meet by chance: in one run on a busy machine even a broken lock may behave. It must not
// in all of many. Returns the first verdict against it.
template <class Lock, class Check>
verdict verdict_of_many(Check check) {
  constexpr int runs = 500;
  for (int run = 0; run < runs; ++run) {
    Lock lock;
    if (const verdict found = check(lock); found != verdict::holds) return found;
  }
  return verdict::holds;
}

TEST(Mutant, NonAtomicTestAndSetIsCaught) {
  const load how{.threads = 4, .operations = 5000, .seed = test_seed()};
  EXPECT_EQ(
      verdict_of_many<non_atomic_lock>([&](auto& lock) { return check_mutant(lock, how, [] {}); }),
      verdict::excludes_not);
}

TEST(Mutant, LostWakeUpIsCaught) {
  const load how{
      .threads = 3, .operations = 1'000'000, .seed = test_seed(), .stuck_after = 300 * millisecond};
  EXPECT_EQ(verdict_of_many<silent_futex_lock>(
                [&](auto& lock) { return check_mutant(lock, how, [&lock] { lock.rescue(); }); }),
            verdict::stuck);
}

TEST(Mutant, ServingTwiceIsCaught) {
  const load how{.threads = 4, .operations = 5000, .seed = test_seed()};
  EXPECT_EQ(verdict_of_many<double_serving_lock>(
                [&](auto& lock) { return check_mutant(lock, how, [] {}); }),
            verdict::excludes_not);
}

}  // namespace
