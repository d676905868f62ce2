// checks.h -- what a lock must do under load, as functions that return a verdict. The conformance
// tests expect `holds` of every lock, the mutant tests expect the opposite of broken ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <ostream>

#include "support.h"

namespace conformance {

enum class verdict {
  holds,
  excludes_not,  // two threads were inside at once, or an update was lost
  stuck,         // no thread finished an operation for the time limit
};

inline void PrintTo(verdict v, std::ostream* out) {
  *out << (v == verdict::holds ? "holds" : v == verdict::excludes_not ? "excludes not" : "stuck");
}

// What critical sections share. Plain data, so that a sanitizer sees a lock that does not order it.
struct plain_data {
  void add() { ++value; }
  [[nodiscard]] long get() const { return value; }
  long value = 0;
};

// The same for locks that are broken on purpose: loses updates, but is no undefined behavior.
struct racy_data {
  void add() { value.store(value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  [[nodiscard]] long get() const { return value.load(); }
  std::atomic<long> value{0};
};

struct load {
  int threads = 2;
  int operations = 1000;  // of each thread
  std::uint32_t seed = 1;
  std::int64_t stuck_after = 60'000 * millisecond;
};

namespace detail {

// A critical section of random length, now and then with the processor given away inside; between
// two sections as well.
inline void dawdle(random_source& random) {
  const std::uint32_t choice = below(random, 64);
  if (choice == 0) machine::yield();
  else if (choice < 16) machine::spin(choice);
}

}  // namespace detail

// Threads acquire by acquire(lock, random), which returns whether they hold the lock, do something
// inside and release. Returns whether nobody ever met another thread inside, no update was lost,
// and somebody made progress all the time; rescue() is called once nobody does, and has to free
// them.
template <class Data, class Lock, class Acquire, class Rescue>
verdict check_with(Lock& lock, const load& how, Acquire acquire, Rescue rescue) {
  Data data;
  std::atomic<int> inside{0}, running{how.threads};
  std::atomic<long> operations{0}, acquired{0};
  std::atomic<bool> met{false}, stuck{false};
  const auto work = [&](int thread) {
    random_source random = random_of(how.seed, thread);
    for (int i = 0; i < how.operations && !stuck.load(std::memory_order_relaxed); ++i) {
      if (acquire(lock, random)) {
        // Relaxed: the lock under test alone has to order what is inside.
        if (inside.fetch_add(1, std::memory_order_relaxed) != 0) met.store(true);
        data.add();
        detail::dawdle(random);
        if (inside.fetch_sub(1, std::memory_order_relaxed) != 1) met.store(true);
        acquired.fetch_add(1, std::memory_order_relaxed);
        lock.unlock();
      }
      operations.fetch_add(1, std::memory_order_relaxed);
      detail::dawdle(random);
    }
    running.fetch_sub(1);
  };
  const auto watch = [&] {
    long seen = -1;
    machine::deadline limit{};
    for (; running.load() != 0; sleep_ms(1)) {
      const long now = operations.load(std::memory_order_relaxed);
      if (now != seen) {
        seen = now;
        limit = machine::after(how.stuck_after);
      } else if (machine::remaining(limit) < 0) {
        stuck.store(true);
        rescue();
        return;
      }
    }
  };
  on_threads(how.threads + 1, [&](int i) { i < how.threads ? work(i) : watch(); });
  if (stuck.load()) return verdict::stuck;
  return met.load() || data.get() != acquired.load() ? verdict::excludes_not : verdict::holds;
}

// The same for a real lock by lock(). Nothing can free threads that a real lock has lost: the
// process ends with the line that replays it.
template <class Lock>
verdict check_exclusion(Lock& lock, const load& how) {
  return check_with<plain_data>(
      lock, how,
      [](Lock& l, random_source&) {
        l.lock();
        return true;
      },
      [&how] {
        std::fprintf(stderr, "no thread gets the lock any more: SEED=%u\n", how.seed);
        std::abort();
      });
}

}  // namespace conformance
