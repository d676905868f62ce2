// lock_with_prefetch.h -- take a lock; while somebody else holds it, bring into the caches what the
// critical section will need.
//
// Source    ours. It is the always-abort paper's idea (Izraelevitz, Xiang & Scott, "Performance
//           Improvement via Always-Abort HTM", PACT 2017) for processors without such transactions:
//           what the paper's waiter reads by running the section itself, here a function of the
//           program's asks for.
//
//   lock_with_prefetch(lock, prefetch_range(row, bytes));
//   lock_with_prefetch(lock, prefetch_each(keys, [&](auto key) { return &table[key]; }));
//   lock_with_prefetch(lock, [&](std::size_t step) { ...; return step + 1 < steps; });
//
// The function runs in small steps, and only while the lock is held by another thread: it ends as
// soon as the lock comes free. It runs *without the lock*, beside the holder. So it must have no
// side effect, and must not follow what the holder may change or free: compute addresses from what
// is the thread's own or never changes, and prefetch those. A prefetch of any address is harmless.
#pragma once

#include <syncopate/machine.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

namespace syncopate {

namespace detail {

// The waiter has a place in line: it keeps that, and prefetches until its turn.
template <class Lock, class Prefetch>
std::size_t prefetch_in_line(Lock& lock, Prefetch& prefetch) {
  const std::uint32_t mine = lock.draw();
  std::size_t step = 0;
  while (lock.ahead(mine) != 0 && prefetch(step++)) {
  }
  lock.await(mine);
  return step;
}

// The waiter takes its place only after the last step; a lock that comes free before is taken.
template <class Lock, class Prefetch>
std::size_t prefetch_then_wait(Lock& lock, Prefetch& prefetch) {
  for (std::size_t step = 0;;) {
    const bool more = prefetch(step++);
    if (!lock.is_locked() && lock.try_lock()) return step;
    if (more) continue;
    lock.lock();
    return step;
  }
}

}  // namespace detail

// Blocks until the lock is held. Meanwhile calls prefetch(0), prefetch(1), ... until it returns
// false or the lock is the caller's; not at all if the lock is free. Returns how many steps it
// made. A step should take well under a microsecond: so long may it delay the acquisition. Must not
// throw. Lock is anything with lock(), try_lock() and is_locked(); of locks with draw(), ahead()
// and await() waiters are in line from the beginning. (For a lock that elides there is nothing to
// wait for as long as it is elided.)
template <class Lock, class Prefetch>
std::size_t lock_with_prefetch(Lock& lock, Prefetch prefetch) noexcept {
  if (lock.try_lock()) return 0;
  if constexpr (requires(std::uint32_t n) { lock.await(lock.ahead(n)), lock.draw(); })
    return detail::prefetch_in_line(lock, prefetch);
  else return detail::prefetch_then_wait(lock, prefetch);
}

// The same as a scope: releases the lock at its end.
template <class Lock, class Prefetch>
[[nodiscard]] std::unique_lock<Lock> locked_with_prefetch(Lock& lock, Prefetch prefetch) noexcept {
  (void)lock_with_prefetch(lock, std::move(prefetch));
  return std::unique_lock<Lock>(lock, std::adopt_lock);
}

// What the section will do with the memory. A prefetch for reading leaves the holder its lines; one
// for writing takes them from it, and is right only for lines that the holder does not touch.
enum class prefetch_for { reading, writing };

inline constexpr std::size_t prefetch_line = 64;

template <prefetch_for Use = prefetch_for::reading>
void prefetch_at(const void* address) noexcept {
  if constexpr (Use == prefetch_for::writing) machine::prefetch_to_write(address);
  else machine::prefetch(address);
}

// A prefetch function for the `bytes` at `begin`: four lines a step.
template <prefetch_for Use = prefetch_for::reading>
[[nodiscard]] auto prefetch_range(const void* begin, std::size_t bytes) noexcept {
  constexpr std::size_t lines_per_step = 4;
  return [first = static_cast<const std::byte*>(begin), bytes](std::size_t step) {
    std::size_t at = step * lines_per_step * prefetch_line;
    for (std::size_t i = 0; i < lines_per_step && at < bytes; ++i, at += prefetch_line)
      prefetch_at<Use>(first + at);
    return at < bytes;
  };
}

// A prefetch function for what address_of(item) says of each item of a container of the caller's
// own, one item a step. The container and what address_of captures must outlive the call.
template <prefetch_for Use = prefetch_for::reading, class Items, class AddressOf>
[[nodiscard]] auto prefetch_each(const Items& items, AddressOf address_of) noexcept {
  return [next = std::begin(items), end = std::end(items), address_of](std::size_t) mutable {
    if (next == end) return false;
    prefetch_at<Use>(address_of(*next));
    return ++next != end;
  };
}

}  // namespace syncopate
