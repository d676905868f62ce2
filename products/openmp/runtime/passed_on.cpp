// passed_on.cpp -- see passed_on.h.
//
// Memory order (each tag stands at its site below)
//   [L]  acquire load of the list of runtimes (caller.cpp).
//   [N]  relaxed: an entry is one word. Who releases a lock has taken it, or was told of it by who
//        has, and so sees that entry, or one that has replaced it.

#include "openmp/runtime/passed_on.h"

#include <atomic>
#include <cstddef>

namespace syncopate::openmp {
namespace {

// An entry: the lock's address above the runtime's number. Relaxed: it is one word, and whoever
// uses a lock has been told of it by whoever made it.
constexpr std::size_t entries = 4096;
constexpr unsigned number_bits = 16;
constinit std::atomic<std::uint64_t> noted[entries]{};

std::uint64_t key_of(const void* lock) noexcept {
  return reinterpret_cast<std::uintptr_t>(lock) << number_bits;
}

std::atomic<std::uint64_t>& entry_for(const void* lock) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(lock);
  return noted[(address >> 2 ^ address >> 14) % entries];
}

const runtime* numbered(std::uint64_t number) noexcept {
  const runtime* r = loaded_from(runtimes.load(std::memory_order_acquire));  // [L]
  while (r != nullptr && r->number != number) r = loaded_from(r->next);
  return r;
}

}  // namespace

const entry_points& asked_now(const void* lock, const binding& by_caller) noexcept {
  // Also of the only runtime: another may be loaded before the lock is released.
  entry_for(lock).store(key_of(lock) | by_caller.to->number, std::memory_order_relaxed);  // [N]
  return by_caller.to->real;
}

const runtime* noted_for(const void* lock) noexcept {
  const std::uint64_t found = entry_for(lock).load(std::memory_order_relaxed);  // [N]
  const bool is_it = (found ^ key_of(lock)) >> number_bits == 0;
  return is_it ? numbered(found & ((1u << number_bits) - 1)) : nullptr;
}

void forget(const void* lock) noexcept {
  std::uint64_t found = entry_for(lock).load(std::memory_order_relaxed);  // [N]
  if ((found ^ key_of(lock)) >> number_bits == 0)
    entry_for(lock).compare_exchange_strong(found, 0, std::memory_order_relaxed);  // [N]
}

void forget_within(std::uintptr_t begin, std::uintptr_t size) noexcept {
  for (std::atomic<std::uint64_t>& entry : noted) {
    std::uint64_t found = entry.load(std::memory_order_relaxed);  // [N]
    if (found != 0 && (found >> number_bits) - begin < size)
      entry.compare_exchange_strong(found, 0, std::memory_order_relaxed);  // [N]
  }
}

const entry_points& asked_before(const void* lock, const binding& by_caller) noexcept {
  const runtime* const r = are_several() ? noted_for(lock) : nullptr;
  return r != nullptr ? r->real : asked_now(lock, by_caller);
}

}  // namespace syncopate::openmp
