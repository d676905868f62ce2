// htm_mutants.h -- elided locks with one defect each, for mutants_check.cpp.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>

#include "lock_scenarios.h"

namespace check::htm_mutants {

using namespace syncopate;
using std::memory_order_acquire, std::memory_order_relaxed, std::memory_order_release;

// Test-and-set below one transaction; what is wrong is in the classes that derive from it.
struct fallback {
  std::atomic<std::uint32_t> word{0};
  void take() {
    while (word.exchange(1, memory_order_acquire) != 0)
      machine::wait_until(word, memory_order_relaxed, [](std::uint32_t w) { return w == 0; });
  }
  bool is_free() const { return word.load(memory_order_relaxed) == 0; }
};

// A transaction does not look at the lock: it runs beside a holder.
struct without_subscription : fallback {
  void lock() {
    if (!machine::htm::begin().started()) take();
  }
  void unlock() {
    if (machine::htm::active()) machine::htm::commit();
    else word.store(0, memory_order_release);
  }
};

// It has looked before it began: the holder comes in between.
struct subscription_before_begin : fallback {
  void lock() {
    if (!is_free() || !machine::htm::begin().started()) take();
  }
  void unlock() {
    if (machine::htm::active()) machine::htm::commit();
    else word.store(0, memory_order_release);
  }
};

// It looks at the end (lazy subscription): until then it runs on a holder's half-made changes, and
// may do anything, a wild jump to the commit instruction included.
struct lazy_subscription : fallback {
  void lock() {
    if (!machine::htm::begin().started()) take();
  }
  void unlock() {
    if (!machine::htm::active()) return word.store(0, memory_order_release);
    if (!is_free()) machine::htm::abort<1>();
    machine::htm::commit();
  }
};

// unlock() takes every section for a transaction.
struct untested_commit : fallback {
  void lock() {
    if (machine::htm::begin().started()) {
      if (is_free()) return;
      machine::htm::abort<1>();
    }
    take();
  }
  void unlock() { machine::htm::commit(); }
};

// The fallback's release gives nothing to the transactions that follow.
struct relaxed_fallback : fallback {
  void lock() {
    if (machine::htm::begin().started()) {
      if (is_free()) return;
      machine::htm::abort<1>();
    }
    take();
  }
  void unlock() {
    if (is_free()) machine::htm::commit();
    else word.store(0, memory_order_relaxed);
  }
};

// Two variables that are equal whenever the lock is free; atomic, so that nothing but the
// assertion tells.
template <class Lock>
void equal_variables() {
  struct pair {
    Lock lock;
    std::atomic<int> left{0}, right{0};
  };
  auto* const p = new pair;
  auto section = [p] {
    p->lock.lock();
    const int before = p->left.load(memory_order_relaxed);
    assert(before == p->right.load(memory_order_relaxed));
    p->left.store(before + 1, memory_order_relaxed);
    p->right.store(before + 1, memory_order_relaxed);
    p->lock.unlock();
  };
  auto other = section;
  together(section, other);
  assert(p->left.load(memory_order_relaxed) == 2);
  delete p;
}

inline constexpr scenario scenarios[] = {
    {"htm_without_subscription", two_threads<without_subscription>},
    {"htm_without_subscription_atomics", equal_variables<without_subscription>},
    {"htm_subscription_before_begin", two_threads<subscription_before_begin>},
    {"htm_subscription_before_begin_atomics", equal_variables<subscription_before_begin>},
    {"htm_lazy_subscription", two_threads<lazy_subscription>},
    {"htm_lazy_subscription_atomics", equal_variables<lazy_subscription>},
    {"htm_untested_commit", two_threads<untested_commit>},
    {"htm_relaxed_fallback", two_threads<relaxed_fallback>},
};

}  // namespace check::htm_mutants
