// speculate.h -- run ahead of a lock that somebody else holds, for what it brings into the
// caches.
//
// Source        Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", PACT
//               2017, section III-A, figure 3 (enter_aahtm, AAHTM_TEST). How we deviate: the
//               paper's runs on past unlock() until something else aborts it; here the unlock() of
//               the lock that it waits for ends it. The listing's XTEST would take an ordinary
//               transaction around the lock for speculation; a thread-local word tells them apart.
//
// lock() of a waiter begins a transaction that can never commit, and returns as if it held the
// lock. The critical section runs on what it finds, perhaps on another holder's half-made changes;
// nothing of it becomes visible. When the transaction aborts, lock() is back where it began it.
//
// No processor has such transactions: natively begin() fails, and the waiter waits as without. A
// program may ask for ordinary ones in their place (use_ordinary_transactions), as the paper's own
// measurements did. Nothing of ours commits them: unlock() aborts, and elided sections inside only
// count. But nothing prevents a *stray XEND*: the speculating thread runs on what another holder
// has half changed, may follow a wild pointer to a function, and land on a commit instruction
// anywhere in the program. Then its writes become visible in the middle of somebody's critical
// section (the paper, section I, figure 1). Hence off by default: the preload library asks for them
// when its user has named a lock that speculates, and `auto` is none.
//
// What a process wants to know of all this, and to forbid, a keeper is asked and told: the preload
// library counts for its record and measures whether it pays.
//
// Memory order
//   [L]  relaxed: every mode is right at any time; a thread may see a new one late.
#pragma once

#include <syncopate/machine.h>

#include <atomic>

namespace syncopate::waits {

// Both are called outside of transactions, by the thread that waits for `lock`.
struct speculation_keeper {
  bool (*may_begin)(const void* lock) noexcept;
  // The run has ended so; it began where may_begin() last said yes to this thread.
  void (*has_ended)(const void* lock, const machine::htm::status& how) noexcept;
};

class speculation {
 public:
  // Whether the calling thread runs ahead of some lock; all that it does will be undone. A program
  // may ask, and leave out what would only disturb the holder.
  [[nodiscard]] static bool active() noexcept { return ahead_of != nullptr; }

  // Whether begin() can ever return true here. The first call may try it, for some microseconds.
  [[nodiscard]] static bool possible() noexcept {
    using namespace machine;
    if constexpr (is_modeled) return htm::usable();
    else
      return mode_.load(std::memory_order_relaxed) == htm::mode::normal && htm::commits();  // [L]
  }

  // Returns true when the caller now runs ahead of `lock`: let lock() return. Returns false when it
  // has been and is back, or when the machine cannot.
  [[nodiscard, gnu::always_inline]] static bool begin(const void* lock) noexcept {
    if (!possible()) return false;
    if (keeper_ != nullptr && !keeper_->may_begin(lock)) return false;
    const machine::htm::status how =
        machine::htm::begin(mode_.load(std::memory_order_relaxed));  // [L]
    if (how.started()) {
      ahead_of = lock;  // undone by the abort
      return true;
    }
    if (keeper_ != nullptr) keeper_->has_ended(lock, how);
    return false;
  }

  // For unlock(). Ends the speculation if it is about `lock`, and does not return then. Returns
  // whether the thread runs ahead of another lock, and holds this one in appearance only.
  [[nodiscard]] static bool end(const void* lock) noexcept {
    if (__builtin_expect(ahead_of == nullptr, 1)) return false;
    if (ahead_of == lock) abandon();
    return true;
  }

  // For the whole process: speculate in ordinary transactions where the machine has no others. Read
  // about the stray XEND above first.
  static void use_ordinary_transactions(bool yes) noexcept {
    using machine::htm::mode;
    mode_.store(yes ? mode::normal : mode::always_abort, std::memory_order_relaxed);  // [L]
  }

  // Of the whole process; before any of its threads speculates.
  static void kept_by(const speculation_keeper& keeper) noexcept { keeper_ = &keeper; }

  // Ends the speculation of the calling thread; it is back in the lock() that began it. Returns
  // when there is none.
  static void abandon() noexcept {
    if (active()) machine::htm::abort<finished>();
  }

 private:
  static constexpr unsigned char finished = 0xfe;  // the code tells profilers why it aborted
  static inline thread_local constinit const void* ahead_of = nullptr;
  static inline constinit const speculation_keeper* keeper_ = nullptr;
  static inline constinit std::atomic<machine::htm::mode> mode_{machine::htm::mode::always_abort};
};

}  // namespace syncopate::waits

namespace syncopate {

// Whether the calling thread runs ahead of a lock that another one holds: for critical sections
// that then take another path. Wait-free.
[[nodiscard]] inline bool speculating() noexcept { return waits::speculation::active(); }

}  // namespace syncopate
