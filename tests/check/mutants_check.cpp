// mutants_check.cpp -- can the checks fail? Algorithms with one classic defect each. The explored
// machine has to find every one; the scenario's name says what is wrong.
#include <syncopate/condition/condition_variable.h>
#include <syncopate/locks/auto_lock.h>
#include <syncopate/locks/clh_lock.h>
#include <syncopate/locks/cna_lock.h>
#include <syncopate/locks/hmcs_lock.h>
#include <syncopate/locks/mcs_lock.h>
#include <syncopate/machine.h>
#include <syncopate/rwlocks/auto_rwlock.h>
#include <syncopate/wait/spin.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>

#include "deque_mutants.h"
#include "htm_mutants.h"
#include "lock_scenarios.h"

namespace {

using namespace syncopate;
using check::section;
using std::memory_order_acq_rel, std::memory_order_acquire, std::memory_order_relaxed,
    std::memory_order_release;

// Tests, then sets: another thread comes between the two.
struct non_atomic_test_and_set {
  std::atomic<std::uint32_t> held{0};
  void lock() {
    machine::wait_until(held, memory_order_acquire, [](std::uint32_t h) { return h == 0; });
    held.store(1, memory_order_relaxed);
  }
  void unlock() { held.store(0, memory_order_release); }
};

// Releases without publishing what was done inside.
struct relaxed_release {
  std::atomic<std::uint32_t> held{0};
  void lock() {
    while (held.exchange(1, memory_order_acquire) != 0)
      machine::wait_until(held, memory_order_relaxed, [](std::uint32_t h) { return h == 0; });
  }
  void unlock() { held.store(0, memory_order_relaxed); }
};

// Sleeps on "held" without having said that somebody sleeps.
struct unannounced_sleeper {
  enum : std::uint32_t { free, held, held_sleepers };
  std::atomic<std::uint32_t> word{free};
  void lock() {
    std::uint32_t expected = free;
    while (
        !word.compare_exchange_strong(expected, held, memory_order_acquire, memory_order_relaxed)) {
      machine::park(word, held);
      expected = free;
    }
  }
  void unlock() {
    if (word.exchange(free, memory_order_release) == held_sleepers) machine::wake(&word, 1);
  }
};

// A sleeper that was woken takes the lock as "held": the next sleeper is forgotten.
struct forgotten_second_sleeper {
  enum : std::uint32_t { free, held, held_sleepers };
  std::atomic<std::uint32_t> word{free};
  void lock() {
    for (;;) {
      std::uint32_t expected = free;
      if (word.compare_exchange_strong(expected, held, memory_order_acquire, memory_order_relaxed))
        return;
      if (expected == held &&
          !word.compare_exchange_strong(expected, held_sleepers, memory_order_relaxed,
                                        memory_order_relaxed))
        continue;
      machine::park(word, held_sleepers);
    }
  }
  void unlock() {
    if (word.exchange(free, memory_order_release) == held_sleepers) machine::wake(&word, 1);
  }
};

// A ticket lock that calls the next number by counting twice when somebody waits.
struct double_serving {
  std::atomic<std::uint32_t> next{0}, serving{0};
  void lock() {
    const std::uint32_t mine = next.fetch_add(1, memory_order_relaxed);
    machine::wait_until(serving, memory_order_acquire,
                        [mine](std::uint32_t s) { return static_cast<int>(s - mine) >= 0; });
  }
  void unlock() {
    const std::uint32_t s = serving.load(memory_order_relaxed);
    serving.store(s + (next.load(memory_order_relaxed) - s > 2 ? 2 : 1), memory_order_release);
  }
};

// A ticket lock whose try_lock draws a number and leaves when it is not its turn.
struct leaving_with_a_ticket {
  std::atomic<std::uint32_t> next{0}, serving{0};
  void lock() {
    const std::uint32_t mine = next.fetch_add(1, memory_order_relaxed);
    machine::wait_until(serving, memory_order_acquire,
                        [mine](std::uint32_t s) { return s == mine; });
  }
  bool try_lock() {
    return next.fetch_add(1, memory_order_relaxed) == serving.load(memory_order_acquire);
  }
  void unlock() { serving.store(serving.load(memory_order_relaxed) + 1, memory_order_release); }
};

// An MCS lock whose unlock() does not wait for a successor that has not linked itself yet.
struct mcs_impatient_unlock {
  struct node {
    std::atomic<node*> next{nullptr};
    std::atomic<std::uint32_t> go{0};
  };
  std::atomic<node*> tail{nullptr};
  node* holder = nullptr;
  void lock() {
    node* const me = new node;
    if (node* const before = tail.exchange(me, memory_order_acq_rel)) {
      before->next.store(me, memory_order_release);
      machine::wait_until(me->go, memory_order_acquire, [](std::uint32_t g) { return g != 0; });
    }
    holder = me;
  }
  void unlock() {
    node* const me = holder;
    node* expected = me;
    if (node* const next = me->next.load(memory_order_acquire))
      next->go.store(1, memory_order_release);
    else
      tail.compare_exchange_strong(expected, nullptr, memory_order_release, memory_order_relaxed);
  }
};

// A CLH lock that frees its own node at unlock() while the successor still looks at it.
struct clh_early_reuse {
  struct node {
    std::atomic<std::uint32_t> passed{0};
  };
  std::atomic<node*> tail{nullptr};
  node* holder = nullptr;
  void lock() {
    node* const me = new node;
    if (node* const before = tail.exchange(me, memory_order_acq_rel))
      machine::wait_until(before->passed, memory_order_acquire,
                          [](std::uint32_t p) { return p != 0; });
    holder = me;
  }
  void unlock() {
    node* const me = holder;
    node* expected = me;
    if (!tail.compare_exchange_strong(expected, nullptr, memory_order_release,
                                      memory_order_relaxed))
      me->passed.store(1, memory_order_release);
    delete me;
  }
};

// unlock() looks at the lock again after it has released it.
struct touches_after_release {
  std::atomic<std::uint32_t> word{0}, sleepers{0};
  void lock() {
    while (word.exchange(1, memory_order_acquire) != 0) {
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      machine::park(word, 1);
      sleepers.fetch_sub(1, std::memory_order_seq_cst);
    }
  }
  void unlock() {
    word.store(0, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0) machine::wake(&word, 1);
  }
};

// As the last, without the orders that Dekker's pattern needs: both sides miss each other.
struct stale_sleeper_count {
  std::atomic<std::uint32_t> word{0}, sleepers{0};
  void lock() {
    while (word.exchange(1, memory_order_acquire) != 0) {
      sleepers.fetch_add(1, memory_order_relaxed);
      machine::park(word, 1);
      sleepers.fetch_sub(1, memory_order_relaxed);
    }
  }
  void unlock() {
    word.store(0, memory_order_release);
    if (sleepers.load(memory_order_relaxed) != 0) machine::wake(&word, 1);
  }
};

// Peterson's lock with release and acquire where it needs sequential consistency.
void peterson_without_fences() {
  struct shared {
    std::atomic<std::uint32_t> wants[2]{}, turn{0};
    int value = 0;
  };
  auto* const s = new shared;
  const auto enter = [s](unsigned me) {
    s->wants[me].store(1, memory_order_release);
    s->turn.store(1 - me, memory_order_release);
    while (s->wants[1 - me].load(memory_order_acquire) != 0 &&
           s->turn.load(memory_order_acquire) != me)
      machine::relax();
    ++s->value;
    s->wants[me].store(0, memory_order_release);
  };
  auto a = [enter] { enter(0); };
  auto b = [enter] { enter(1); };
  check::together(a, b);
  delete s;
}

// A flag without a lock: waits for a signal that may have been sent before.
void missed_signal() {
  auto* const word = new std::atomic<std::uint32_t>(0);
  auto waiter = [word] {
    if (word->load(memory_order_acquire) == 0) {
      const std::uint32_t seen = word->load(memory_order_relaxed);
      machine::park(*word, seen);  // the value that was tested is not the value that is compared
    }
  };
  auto waker = [word] {
    word->store(1, memory_order_release);
    machine::wake(word, 1);
  };
  check::together(waiter, waker);
  delete word;
}

// Two locks in opposite orders.
void lock_order() {
  struct shared {
    relaxed_release a, b;
  };
  auto* const s = new shared;
  auto forth = [s] { s->a.lock(), s->b.lock(), s->b.unlock(), s->a.unlock(); };
  auto back = [s] { s->b.lock(), s->a.lock(), s->a.unlock(), s->b.unlock(); };
  check::together(forth, back);
  delete s;
}

// Two polite threads that give way to each other for ever.
void livelock() {
  struct shared {
    std::atomic<std::uint32_t> wants[2]{};
  };
  auto* const s = new shared;
  const auto enter = [s](unsigned me) {
    s->wants[me].store(1, std::memory_order_seq_cst);
    while (s->wants[1 - me].load(std::memory_order_seq_cst) != 0) machine::relax();
    s->wants[me].store(0, std::memory_order_seq_cst);
  };
  auto a = [enter] { enter(0); };
  auto b = [enter] { enter(1); };
  check::together(a, b);
  delete s;
}

// ---- what only a lock's own invariants show ----------------------------------------------------

// A sleeper of auto_lock that does not leave the queue: everybody goes on, with wakes in vain.
void broken_queue_left_out() {
  auto* const queue = new auto_parts::sleeper_queue;
  (void)queue->join();
  queue->check_at_rest();
}
// A spinner that does not withdraw: nobody ever spins again.
void broken_spinner_stays() {
  auto* const spinner = new auto_parts::spinner_slot;
  spin_tuning so_far;
  (void)spinner->announce(so_far);
  spinner->check_at_rest();
}
// A grant that is never taken: the word stays held, by nobody.
void broken_grant_left_lying() {
  auto* const slot = new auto_parts::successor_slot;
  auto_parts::successor_slot::state seen;
  (void)slot->occupy(seen);
  slot->become_due(seen);
  seen = slot->look();
  (void)slot->grant(seen, 0);
  slot->check_held();
}

// Who unlocks what it does not hold, as the second of two unlocks, is told so in debug builds.
template <class Lock>
void broken_by_unlocking_twice() {
  auto* const lock = new Lock;
  lock->lock();
  lock->unlock();
  lock->check_invariants();
}

void broken_list() {
  auto* const condition = new condition_variable;
  auto* const waiter = new condition_variable::waiter;
  condition->enlist(*waiter);
  condition->enlist(*waiter);
  condition->check_invariants();
}
void broken_count_of_readers() {
  auto* const lock = new auto_rwlock;
  lock->unlock_shared();
  lock->check_invariants();
}

constexpr check::scenario scenarios[] = {
    {"non_atomic_test_and_set", check::two_threads<non_atomic_test_and_set>},
    {"relaxed_release", check::two_threads<relaxed_release>},
    {"unannounced_sleeper", check::two_threads<unannounced_sleeper>},
    {"forgotten_second_sleeper", check::three_threads<forgotten_second_sleeper>},
    {"double_serving", check::three_threads<double_serving>},
    {"leaving_with_a_ticket", check::try_lock<leaving_with_a_ticket>},
    {"mcs_impatient_unlock", check::two_threads<mcs_impatient_unlock>},
    {"clh_early_reuse", check::two_threads<clh_early_reuse>},
    {"touches_after_release", check::destroy_after_unlock<touches_after_release>},
    {"stale_sleeper_count", check::two_threads<stale_sleeper_count>},
    {"peterson_without_fences", peterson_without_fences},
    {"missed_signal", missed_signal},
    {"lock_order", lock_order},
    {"livelock", livelock},
    {"broken_queue_left_out", broken_queue_left_out},
    {"broken_spinner_stays", broken_spinner_stays},
    {"broken_grant_left_lying", broken_grant_left_lying},
    {"broken_mcs", broken_by_unlocking_twice<mcs_lock<waits::spin>>},
    {"broken_clh", broken_by_unlocking_twice<clh_lock<waits::spin>>},
    {"broken_cna", broken_by_unlocking_twice<cna_lock<waits::spin>>},
    {"broken_hmcs", broken_by_unlocking_twice<hmcs_lock<waits::spin>>},
    {"broken_auto", broken_by_unlocking_twice<auto_lock>},
    {"broken_list", broken_list},
    {"broken_count_of_readers", broken_count_of_readers},
};

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t own = std::size(scenarios),
                        elided = std::size(check::htm_mutants::scenarios),
                        deques = std::size(check::deque_mutants::scenarios);
  check::scenario all[own + elided + deques];
  std::copy(std::begin(scenarios), std::end(scenarios), all);
  std::copy_n(check::htm_mutants::scenarios, elided, all + own);
  std::copy_n(check::deque_mutants::scenarios, deques, all + own + elided);
  return check::main(argc, argv, all);
}
