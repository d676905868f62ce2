// paths.cpp -- every way in and out of an elided section on the simulated machine: each cause of an
// abort takes the path that the policy says, and whatever a program does with a lock, it finds what
// it would find without elision. Numbers go to the test as lines `name=number`.
#include <syncopate/condition/condition_variable.h>
#include <syncopate/elide/elided_rwlock.h>
#include <syncopate/locks/all.h>

#include <vector>

#include "scenarios.h"

using namespace scenarios;
using elide::section;

namespace {

constexpr int sections = 100;

// Runs `body` as sections of the lock; returns how many ran under the lock in the end.
template <class Lock, class Body>
long run_sections(Lock& lock, int count, Body body) {
  long under_lock = 0;
  for (int i = 0; i < count; ++i) {
    lock.lock();
    body();
    const bool elided = section::active();
    lock.unlock();
    under_lock += elided ? 0 : 1;
  }
  return under_lock;
}

// ---- causes of aborts -------------------------------------------------------------------------

void commits() {
  static apart<plain_elided> lock;
  static apart<long> data;
  REQUIRE(run_sections(lock.value, sections, [] { ++data.value; }) == 0);
  REQUIRE(data.value == sections);
}

// 64 KB do not fit into a first-level cache: one attempt for each section, no retry.
void capacity() {
  static plain_elided lock;
  static apart<char> lines[512];
  const long fell_back = run_sections(lock, sections, [] {
    for (auto& line : lines) ++line.value;
  });
  REQUIRE(fell_back == sections);
  REQUIRE(lines[511].value == sections);
}

// A system call: likewise.
void unfriendly() {
  static plain_elided lock;
  REQUIRE(run_sections(lock, sections, [] { machine::yield(); }) == sections);
}

// The paper's policy tries that ten times all the same.
void unfriendly_htm_10() {
  static elide::elided_lock<fall_back, elide::policies::htm_10> lock;
  REQUIRE(run_sections(lock, sections, [] { machine::yield(); }) == sections);
}

// The program's own abort: one attempt.
void user_abort() {
  static plain_elided lock;
  REQUIRE(run_sections(lock, sections, [] { machine::htm::abort<7>(); }) == sections);
}

void needs_lock() {
  static plain_elided lock;
  REQUIRE(run_sections(lock, sections, [] { section::needs_lock(); }) == sections);
}

// Conflicts are retried, with pauses: most sections commit in spite of them.
void conflicts() {
  static apart<plain_elided> lock;
  static apart<long> data;
  static std::atomic<long> fell_back{0};
  run_together(
      2, [](unsigned) { fell_back += run_sections(lock.value, sections, [] { ++data.value; }); });
  REQUIRE(data.value == 2 * sections);
  tell("fell_back", fell_back);
}

// A lock that is held for long: those who find it so wait, and are elided in the end.
template <class Lock>
void found_held_by() {
  static apart<Lock> lock;
  static apart<std::atomic<int>> stage;
  static apart<long> data[3];
  static std::atomic<long> fell_back{0};
  run_together(3, [](unsigned me) {
    if (me == 0) {
      lock.value.underlying().lock();
      stage.value = 1;
      for (int i = 0; i < 200; ++i) machine::relax();
      REQUIRE(data[1].value == 0 && data[2].value == 0);
      lock.value.underlying().unlock();
      return;
    }
    machine::wait_until(stage.value, std::memory_order_acquire, [](int s) { return s == 1; });
    fell_back += run_sections(lock.value, 1, [me] { ++data[me].value; });
  });
  REQUIRE(data[1].value == 1 && data[2].value == 1);
  REQUIRE(fell_back == 0);
}
void held_wait_outside() { found_held_by<plain_elided>(); }
void held_wait_inside() {
  found_held_by<elide::elided_lock<fall_back, elide::retry_policy{
                                                  .on_held = elide::when_held::wait_inside}>>();
}

// A transaction that runs when the lock is taken for real must not commit.
void taken_meanwhile() {
  static apart<plain_elided> lock;
  static apart<std::atomic<int>> stage;
  static apart<long> data;
  run_together(2, [](unsigned me) {
    if (me == 0) {
      lock.value.lock();
      if (section::active()) {  // the first time
        volatile long& seen = data.value;
        seen = 100;
        while (seen == 100) {  // until the other takes the lock
        }
      }
      lock.value.unlock();
      return;
    }
    for (int i = 0; i < 100; ++i) machine::relax();
    lock.value.underlying().lock();
    REQUIRE(data.value == 0);
    stage.value = 1;
    lock.value.underlying().unlock();
  });
}

// ---- what a program may do with a lock --------------------------------------------------------

void nested() {
  static apart<plain_elided> a, b;
  static apart<long> data;
  for (int i = 0; i < sections; ++i) {
    a.value.lock();
    b.value.lock();
    ++data.value;
    REQUIRE(section::active());
    // In either order.
    (i % 2 == 0 ? a : b).value.unlock();
    REQUIRE(section::active());
    (i % 2 == 0 ? b : a).value.unlock();
    REQUIRE(!section::active());
  }
  REQUIRE(data.value == sections);
}

// More locks than the engine keeps: the rest is taken inside the transaction.
void nested_deeply() {
  static plain_elided locks[12];
  for (int i = 0; i < sections; ++i) {
    for (auto& lock : locks) lock.lock();
    for (auto& lock : locks) lock.unlock();
    REQUIRE(!section::active());
    for (auto& lock : locks) REQUIRE(!lock.is_locked());
  }
}

// The inner lock is held by another thread: the outer section starts over, and gets it in the end.
void inner_held() {
  static apart<plain_elided> outer, inner;
  static apart<std::atomic<int>> stage;
  static apart<long> data;
  run_together(2, [](unsigned me) {
    if (me == 0) {
      inner.value.underlying().lock();
      stage.value = 1;
      for (int i = 0; i < 300; ++i) machine::relax();
      ++data.value;
      inner.value.underlying().unlock();
      return;
    }
    machine::wait_until(stage.value, std::memory_order_acquire, [](int s) { return s == 1; });
    outer.value.lock();
    inner.value.lock();
    REQUIRE(data.value == 1);
    ++data.value;
    inner.value.unlock();
    outer.value.unlock();
  });
  REQUIRE(data.value == 2);
  REQUIRE(!outer.value.is_locked() && !inner.value.is_locked());
}

void try_lock() {
  static apart<plain_elided> lock, other;
  for (int i = 0; i < sections; ++i) {
    REQUIRE(lock.value.try_lock());
    REQUIRE(section::active());
    REQUIRE(other.value.try_lock());  // inside: still one transaction
    other.value.unlock();
    lock.value.unlock();
  }
  lock.value.underlying().lock();
  REQUIRE(!lock.value.try_lock());
  other.value.lock();
  REQUIRE(!lock.value.try_lock());  // held by somebody else: no reason to abort
  REQUIRE(section::active());
  other.value.unlock();
  lock.value.underlying().unlock();
}

// try_lock by the thread that has elided the lock: false, as without elision.
void try_lock_again() {
  static plain_elided lock;
  static long refused = 0;
  const long fell_back = run_sections(lock, sections, [] {
    REQUIRE(!lock.try_lock());
    ++refused;
  });
  REQUIRE(fell_back == sections && refused == sections);
}

// lock_until by the thread that has elided the lock: times out, as without elision.
void lock_again() {
  static elide::elided_lock<syncopate::auto_lock> lock;
  lock.lock();
  REQUIRE(!lock.lock_until(machine::after(1000)));
  lock.unlock();
  REQUIRE(!lock.is_locked());
}

void timed() {
  static elide::elided_lock<syncopate::auto_lock> lock;
  for (int i = 0; i < sections; ++i) {
    REQUIRE(lock.lock_until(machine::after(1000)));
    REQUIRE(section::active());
    lock.unlock();
  }
  lock.underlying().lock();
  run_together(1, [](unsigned) { REQUIRE(!lock.lock_until(machine::after(1000))); });
  lock.underlying().unlock();
}

// What a recursive mutex is to the engine: entered again, it is the same section.
void recursive() {
  static apart<fall_back> lock;
  const auto is_free = [] { return !lock.value.is_locked(); };
  const auto enter = [&] {
    return elide::try_enter({&lock, true}, elide::policies::standard, nullptr, is_free);
  };
  for (int i = 0; i < sections; ++i) {
    REQUIRE(enter() && enter() && enter());
    REQUIRE(elide::try_leave(&lock) && elide::try_leave(&lock));
    REQUIRE(section::active());
    REQUIRE(elide::try_leave(&lock));
    REQUIRE(!section::active());
    REQUIRE(!elide::try_leave(&lock));
  }
}

// unlock of a lock that nobody holds: what the lock itself does, and no transaction of others ends.
void unlock_free() {
  static apart<plain_elided> lock, other;
  lock.value.unlock();
  REQUIRE(!lock.value.is_locked());
  for (int i = 0; i < sections; ++i) {
    other.value.lock();
    lock.value.unlock();
    REQUIRE(section::active());
    other.value.unlock();
    REQUIRE(!section::active());
  }
}

// A reader that wants to write, and a writer that wants to read: refused, as without elision.
void rwlock_modes() {
  static elide::elided_rwlock<> lock;
  lock.lock_shared();
  REQUIRE(!lock.try_lock());
  REQUIRE(lock.try_lock_shared());
  lock.unlock_shared();
  lock.unlock_shared();
  lock.lock();
  REQUIRE(!lock.try_lock_shared());
  REQUIRE(!lock.try_lock());
  lock.unlock();
  const machine::deadline soon = machine::after(1000);
  REQUIRE(lock.lock_until(&soon));
  REQUIRE(section::active());
  lock.unlock();
  REQUIRE(lock.lock_shared_until(syncopate::rw_preference::writers, nullptr));
  REQUIRE(section::active());
  lock.unlock_shared();
  REQUIRE(!lock.is_locked());
}

// A condition variable that knows nothing of elision.
void condition() {
  static apart<elide::elided_lock<syncopate::auto_lock>> lock;
  static syncopate::condition_variable changed;
  static apart<int> turn;
  run_together(2, [](unsigned me) {
    for (int i = 0; i < sections; ++i) {
      lock.value.lock();
      while (turn.value % 2 != static_cast<int>(me)) changed.wait(lock.value);
      ++turn.value;
      changed.notify_one();
      lock.value.unlock();
    }
  });
  REQUIRE(turn.value == 2 * sections);
}

// Turned off in the middle of a section: it starts over under the lock. Turned on again: elided.
void control() {
  static apart<plain_elided> lock;
  static apart<std::atomic<int>> stage;
  static long under_lock = 0;
  run_together(2, [](unsigned me) {
    if (me == 1) {
      for (int i = 0; i < 200; ++i) machine::relax();
      REQUIRE(elide::set_mode(elide::mode::off) == elide::mode::off);
      stage.value = 1;
      return;
    }
    lock.value.lock();
    while (section::active()) (void)stage.value.load();
    ++under_lock;
    lock.value.unlock();
    REQUIRE(stage.value == 1);
    REQUIRE(run_sections(lock.value, sections, [] {}) == sections);
    REQUIRE(elide::set_mode(elide::mode::automatic) == elide::mode::automatic);
    REQUIRE(run_sections(lock.value, sections, [] {}) == 0);
  });
  REQUIRE(under_lock == 1);
}

// SYNCOPATE_ELIDE as the test set it: how many sections are elided.
void by_environment() {
  static elide::elided_lock<fall_back, elide::policies::adaptive> lock;
  run_sections(lock, 1000, [] { machine::yield(); });
  tell("learned", lock.learned());
  tell("elided", sections - run_sections(lock, sections, [] {}));
}

// For machines without transactions.
void none_here() {
  static plain_elided lock;
  REQUIRE(run_sections(lock, sections, [] {}) == sections);
}

// ---- policies ---------------------------------------------------------------------------------

// One thread's sections never commit; what becomes of the others', which could?
template <elide::retry_policy Policy>
long fall_backs_of_others() {
  static apart<elide::elided_lock<fall_back, Policy>> lock;
  static apart<long> data[4];
  static std::atomic<long> fell_back{0};
  run_together(4, [](unsigned me) {
    if (me == 0) run_sections(lock.value, sections / 2, [] { machine::yield(); });
    else
      fell_back += run_sections(lock.value, 4 * sections, [me] {
        for (int i = 0; i < 10; ++i) ++data[me].value;
      });
  });
  return fell_back;
}
void lemming() {
  constexpr elide::retry_policy bare{
      .attempts = 3, .on_held = elide::when_held::take_lock, .protects = false};
  tell("unprotected", fall_backs_of_others<bare>());
  tell("protected", fall_backs_of_others<elide::retry_policy{.attempts = 3}>());
}

// A lock whose sections make system calls for a while, then no more.
void learning() {
  static elide::elided_lock<fall_back, elide::policies::adaptive> lock;
  REQUIRE(run_sections(lock, 200, [] {}) == 0);
  REQUIRE(lock.learned() == 0);
  REQUIRE(run_sections(lock, 10'000, [] { machine::yield(); }) == 10'000);
  REQUIRE(lock.learned() != 0);
  const long late = run_sections(lock, 5'000, [] {});  // what is left out, at most 4,095
  REQUIRE(late > 0 && late < 4'096);
  REQUIRE(lock.learned() == 0);
  REQUIRE(run_sections(lock, 200, [] {}) == 0);
}

constexpr scenario all[] = {
    {"commits", commits},
    {"capacity", capacity},
    {"unfriendly_htm_10", unfriendly_htm_10},
    {"unfriendly", unfriendly},
    {"user_abort", user_abort},
    {"needs_lock", needs_lock},
    {"conflicts", conflicts},
    {"held_wait_outside", held_wait_outside},
    {"held_wait_inside", held_wait_inside},
    {"taken_meanwhile", taken_meanwhile},
    {"nested", nested},
    {"nested_deeply", nested_deeply},
    {"inner_held", inner_held},
    {"try_lock", try_lock},
    {"try_lock_again", try_lock_again},
    {"lock_again", lock_again},
    {"timed", timed},
    {"recursive", recursive},
    {"unlock_free", unlock_free},
    {"rwlock_modes", rwlock_modes},
    {"condition", condition},
    {"control", control},
    {"by_environment", by_environment},
    {"none_here", none_here},
    {"lemming", lemming},
    {"learning", learning},
};

}  // namespace

int main(int argc, char** argv) { return scenarios::main(argc, argv, all); }
