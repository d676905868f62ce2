#include "tm/core/regime.h"

#include "tm/core/adaptive.h"
#include "tm/core/backoff.h"
#include "tm/core/doomed.h"
#include "tm/core/fences.h"
#include "tm/core/threads.h"

namespace syncopate::tm {

constinit regime now;

void regime::wake_closer(transaction* tx) const noexcept {
  if (closer_sleeps.load(std::memory_order_relaxed)) machine::wake(&tx->active, 1);  // [C]
}

void regime::wait_for_others(const transaction* tx, bool was_quick) noexcept {
  heavy_fence();                                      // [C]
  if (was_quick) make_up_for_missing_light_fences();  // [C]
  for (transaction* other = all_threads(); other != nullptr; other = other->next) {
    if (other == tx) continue;
    u32 seen = other->active.load(std::memory_order_acquire);                           // [C]
    for (backoff p; seen != 0; seen = other->active.load(std::memory_order_acquire)) {  // [C]
      if (!p.is_over()) {
        p.wait();
      } else if (!closer_sleeps.load(std::memory_order_relaxed)) {  // [C]
        closer_sleeps.store(true, std::memory_order_relaxed);       // [C]
        heavy_fence();                                              // [C]
      } else {
        machine::park(other->active, seen);
      }
    }
  }
  closer_sleeps.store(false, std::memory_order_relaxed);  // [C]
}

namespace {

// The thread whom the word leaves alone, unless it is `tx`; else null.
const transaction* solo_beside(const transaction* tx, address word) noexcept {
  if ((word & regime::solo) == 0 || regime::is_solo_of(word, tx)) return nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the word names a descriptor
  return reinterpret_cast<const transaction*>(word & ~address{regime::solo | regime::quick});
}

}  // namespace

void regime::leave_slice(const transaction* owner) const noexcept {
  // Handing over costs some ten microseconds of both processors, and the data move between caches.
  constexpr std::int64_t slice = 500'000, look = 50'000;                            // ns
  const u32 nobody_wakes = static_cast<u32>(word.load(std::memory_order_relaxed));  // [Z]
  const u64 end = machine::now() + slice;
  u64 seen = owner->counts.commits;
  backoff first;
  while (!first.is_over() && owner->counts.commits == seen) first.wait();
  while (owner->counts.commits != seen && machine::now() < end) {
    seen = owner->counts.commits;
    const machine::deadline limit = machine::after(look);
    machine::park(static_cast<const void*>(&word), nobody_wakes, &limit);
  }
}

void regime::acquire(transaction* tx, bool in_turn) noexcept {
  bool waited = !mutex.try_lock();
  if (waited) mutex.lock();
  const address before = word.load(std::memory_order_relaxed);  // [G]
  if (before != closed) {
    const transaction* const owner = solo_beside(tx, before);
    if (owner != nullptr && in_turn && slices) leave_slice(owner), waited = true;
    const bool counted = prefers_hardware();
    if (counted) word.store(closed, std::memory_order_seq_cst);     // [H]
    else word.store(closed, std::memory_order_relaxed);             // [C]
    if (!counted || software.load(std::memory_order_seq_cst) != 0)  // [H]
      wait_for_others(tx, (before & quick) != 0);
    if (owner != nullptr) end_solo(owner);
  }
  streak_ = last_ == tx ? streak_ + 1 : 0;
  last_ = tx;
  tx->holds_mutex = true;
  if (waited && in_turn && adaptive::on && !is_optimistic()) adaptive::consider_in_turn(tx);
}

void regime::end_solo(const transaction* owner) noexcept {
  // Taking the right back costs some microseconds; each commit has saved some 20 nanoseconds. A
  // thread that had it for too short a time has to be alone for longer to get it again.
  constexpr u64 worth_it = 256;
  constexpr u32 fewest = 16, most = 1u << 16;
  if (owner->counts.commits - solo_since_ < worth_it) needed_ = needed_ < most ? 4 * needed_ : most;
  else needed_ = needed_ > fewest ? needed_ / 4 : fewest;
}

void regime::release(transaction* tx) noexcept {
  tx->holds_mutex = false;
  if (is_optimistic()) word.store(open, std::memory_order_release);                 // [O]
  else if (prefers_hardware()) word.store(in_hardware, std::memory_order_release);  // [O]
  else if (may_be_solo && (slices || streak_ >= needed_)) {
    streak_ = 0;
    solo_since_ = tx->counts.commits;
    const bool nobody_waits = waiters.load(std::memory_order_relaxed) == 0;  // [W]
    const bool be_quick = may_be_quick && nobody_waits && light_fences_cost_nothing();
    word.store(solo_of(tx) | (be_quick ? address{quick} : 0), std::memory_order_relaxed);  // [S]
  }
  mutex.unlock();
}

bool regime::try_narrow() noexcept {
  mutex.lock();
  const bool was_open = word.load(std::memory_order_relaxed) == open;  // [G]
  if (was_open) word.store(narrow, std::memory_order_release);         // [O]
  mutex.unlock();
  return was_open;
}

void regime::widen() noexcept {
  mutex.lock();
  if (word.load(std::memory_order_relaxed) == narrow)
    word.store(open, std::memory_order_release);  // [O]
  mutex.unlock();
  machine::wake(&word, INT32_MAX);
}

void regime::wait_while_narrow() const noexcept {
  const machine::deadline limit = machine::after(1'000'000);
  machine::park(static_cast<const void*>(&word), narrow, &limit);
}

regime::commits_so_far regime::start_waiting(transaction* tx) noexcept {
  waiters.fetch_add(1, std::memory_order_seq_cst);                               // [W]
  const u32 began = tx->active.load(std::memory_order_relaxed);                  // [Q]
  tx->looking.store(began != 0 ? began : epoch.load(std::memory_order_relaxed),  // [Q]
                    std::memory_order_relaxed);                                  // [Q]
  const u32 all = commits_.load(std::memory_order_acquire);                      // [V]
  return {all, unlogged_commits_.load(std::memory_order_relaxed)};               // [V]
}

void regime::wait_for_change(const transaction* tx, const operations& ran_under,
                             commits_so_far before) noexcept {
  u32 seen = before.all;
  do {
    const machine::deadline limit = machine::after(2'000'000);
    machine::park(commits_, seen, &limit);
    seen = commits_.load(std::memory_order_acquire);                                // [V]
  } while (unlogged_commits_.load(std::memory_order_relaxed) == before.unlogged &&  // [V]
           !ran_under.has_changed(tx));
}

void regime::count_waiter_off(transaction* tx) noexcept {
  tx->looking.store(0, std::memory_order_release);  // [Q]
  waiters.fetch_sub(1, std::memory_order_relaxed);  // [W]
}

void regime::wake_waiters(bool logged) noexcept {
  if (!logged) unlogged_commits_.fetch_add(1, std::memory_order_relaxed);  // [V]
  commits_.fetch_add(1, std::memory_order_release);                        // [V]
  machine::wake(&commits_, INT32_MAX);
}

void regime::choose(const operations* algorithm, bool hardware) noexcept {
  if constexpr (!machine::is_modeled) {
    if (algorithm != nullptr) catch_doomed_reads();
  }
  optimistic.store(algorithm, std::memory_order_relaxed);                     // [S]
  hardware_first.store(hardware, std::memory_order_relaxed);                  // [S]
  software.store(hardware ? 0 : not_in_hardware, std::memory_order_relaxed);  // [S]
  if (algorithm != nullptr && algorithm != last_optimistic_) {
    // What one algorithm's transactions wait for, another's commits do not show.
    if (last_optimistic_ != nullptr)
      unlogged_commits_.fetch_add(1, std::memory_order_relaxed);  // [V]
    last_optimistic_ = algorithm;
  }
  if (mutex.is_locked()) return;  // release() does the rest
  const address alone = hardware ? in_hardware : closed;
  word.store(algorithm != nullptr ? open : alone, std::memory_order_relaxed);  // [S]
}

}  // namespace syncopate::tm
