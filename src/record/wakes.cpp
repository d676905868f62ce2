// wakes.cpp -- who wakes the waiters of futexes and of semaphores that processes share: kept in
// their entries.
#include "record/futex_wakes.h"
#include "record/objects.h"

namespace syncopate::record {

// nullptr where it has none of its own.
static lock_entry* own_entry(std::uint32_t id) noexcept {
  return known_id(id) != 0 ? lock_of(id) : nullptr;
}

bool is_used_as_lock(std::uint32_t id) noexcept {
  const lock_entry* const e = own_entry(id);
  return e != nullptr && (load(e->flags) & used_as_lock) != 0;
}

wait_kind kind_of_futex(std::uint32_t id) noexcept {
  return is_used_as_lock(id) ? wait_kind::futex_lock : wait_kind::futex;
}

void count_wait(std::uint32_t id, std::uint32_t value) noexcept {
  if (lock_entry* const e = own_entry(id))
    store(e->reserved, futex_wakes::of(load(e->reserved)).waited_for(value).word());
}

void count_wake(std::uint32_t id, bool by_waiter, bool one) noexcept {
  lock_entry* const e = own_entry(id);
  if (e == nullptr) return;
  const futex_wakes now = futex_wakes::of(load(e->reserved)).with(by_waiter, one).after_round();
  store(e->reserved, now.word());
  const std::uint16_t flags = load(e->flags);
  if (now.is_lock() != ((flags & used_as_lock) != 0))
    store(e->flags, static_cast<std::uint16_t>(flags ^ used_as_lock));
}

}  // namespace syncopate::record
