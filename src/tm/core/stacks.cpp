#include "tm/core/stacks.h"

#include "tm/core/backoff.h"
#include "tm/core/engine.h"
#include "tm/core/fences.h"
#include "tm/core/regime.h"
#include "tm/core/threads.h"

#include <algorithm>

namespace syncopate::tm::stacks {

constinit std::atomic<u8> announced[pieces];

namespace {

constexpr std::size_t largest = 64 << 20;  // of a stack that has no limit, the upper part

// One transaction at a time lowers a shared_from; others begin again.
constinit std::atomic<bool> somebody_shares{false};

transaction* owner_of_stack(address a, const transaction* except) noexcept {
  for (transaction* other = all_threads(); other != nullptr; other = other->next) {
    const address low = other->announced_low.load(std::memory_order_relaxed);    // [A]
    const address high = other->announced_high.load(std::memory_order_relaxed);  // [A]
    if (other != except && a - low < high - low) return other;
  }
  return nullptr;
}

bool began_before(const transaction* tx, u32 event) noexcept {
  return static_cast<std::int32_t>(tx->active.load(std::memory_order_relaxed) - event) < 0;  // [B]
}

// Requires: somebody_shares is this thread's.
void share(transaction* owner, address a) noexcept {
  a &= ~address{63};  // so that an access that ends there is its own
  if (a >= owner->settled_from.load(std::memory_order_relaxed)) return;            // [G]
  owner->shared_from.store(a, std::memory_order_relaxed);                          // [S]
  heavy_fence();                                                                   // [S]
  for (backoff p; owner->writes_stack.load(std::memory_order_acquire);) p.wait();  // [S]
  owner->shared_since.store(epoch.fetch_add(2, std::memory_order_seq_cst) + 2,     // [N]
                            std::memory_order_relaxed);                            // [N]
  owner->settled_from.store(a, std::memory_order_release);                         // [N]
  now.tell_waiters(false);  // who waits for a change there has not logged that
}

}  // namespace

bool make_private(transaction* tx, address a) noexcept {
  const address low = tx->announced_low.load(std::memory_order_relaxed);    // [A]
  const address high = tx->announced_high.load(std::memory_order_relaxed);  // [A]
  if (a - low >= high - low) {
    tx->wants_stack_announced = true;
    return false;
  }
  tx->writes_stack.store(true, std::memory_order_relaxed);                          // [P]
  machine::light_fence();                                                           // [P]
  address limit = std::min(high, tx->shared_from.load(std::memory_order_relaxed));  // [P]
  limit -= word_size - 1;  // an access that is not aligned ends below it, too
  if (a >= limit) return false;
  tx->private_above = limit - tx->stack_begin;
  return true;
}

void use(transaction* tx, address a) noexcept {
  transaction* const owner = owner_of_stack(a, tx);
  if (owner == nullptr) return;
  if (a >= owner->settled_from.load(std::memory_order_acquire) &&              // [N]
      !began_before(tx, owner->shared_since.load(std::memory_order_relaxed)))  // [N]
    return;
  if (!somebody_shares.exchange(true, std::memory_order_acquire)) {  // [L]
    share(owner, a);
    somebody_shares.store(false, std::memory_order_release);  // [L]
  }
  observer::loses(tx, a, owner);
  restart(tx, cause::read_conflict);
}

void announce(transaction* tx) noexcept {
  tx->wants_stack_announced = false;
  const address high = tx->stack_high;
  const address low = std::max(tx->stack_low, high - std::min(high, largest));
  for (address piece = low >> piece_shift; piece << piece_shift < high; ++piece)
    announced[piece & (pieces - 1)].store(1, std::memory_order_relaxed);  // [A]
  tx->shared_from.store(~address{0}, std::memory_order_relaxed);          // [A]
  tx->settled_from.store(~address{0}, std::memory_order_relaxed);         // [A]
  tx->announced_low.store(low, std::memory_order_relaxed);                // [A]
  tx->announced_high.store(high, std::memory_order_relaxed);              // [A]
}

void retract(transaction* tx) noexcept {
  tx->announced_high.store(0, std::memory_order_relaxed);  // [A]
  tx->announced_low.store(0, std::memory_order_relaxed);   // [A]
}

}  // namespace syncopate::tm::stacks
