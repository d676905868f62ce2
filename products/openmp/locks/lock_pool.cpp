// lock_pool.cpp -- the pool of locks that do not fit a program's word.
//
// Numbers are dealt from 1. Entry n lies in block floor(log2(n / 64 + 1)); blocks double, are
// never moved and never given back, so that a number can be followed without a lock. Free entries
// form a list, which only makers and releasers touch, under a lock of their own.
//
// Memory order (each tag stands at its site below)
//   [B]  release store of a block, acquire load: who follows a number into it finds it cleared.
//   [G]  relaxed: under pool_lock.
//   [N]  acq_rel RMW that gives a word its number or takes it away, acquire where another was
//        first: the entry is as take() has left it.

#include <syncopate/locks/tatas_lock.h>
#include <syncopate/wait/spin_then_park.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "openmp/locks/locks.h"

namespace syncopate::openmp {
namespace {

constexpr std::uint32_t first_block = 64, block_count = 26;

constinit std::atomic<pool_entry*> blocks[block_count];
constinit tatas_lock<waits::spin_then_park> pool_lock;
constinit std::uint32_t dealt = 0, first_free = 0;  // under pool_lock

// Where an entry lies: block b holds first_block << b entries.
struct position {
  std::uint32_t block, index;
};
constexpr position position_of(std::uint32_t number) noexcept {
  const std::uint32_t n = number - 1;
  const auto block = static_cast<std::uint32_t>(std::bit_width((n / first_block + 1) / 2));
  return {block, n - first_block * ((1u << block) - 1)};
}
static_assert(position_of(1).block == 0 && position_of(64).index == 63);
static_assert(position_of(65).block == 1 && position_of(65).index == 0);
static_assert(position_of(192).index == 127 && position_of(193).block == 2);

pool_entry& at(std::uint32_t number) noexcept {
  const position p = position_of(number);
  return blocks[p.block].load(std::memory_order_acquire)[p.index];  // [B]
}

std::uint32_t take() noexcept {
  const std::scoped_lock guard(pool_lock);
  if (first_free != 0) {
    const std::uint32_t number = first_free;
    pool_entry& entry = at(number);
    first_free = entry.next_free;
    std::memset(static_cast<void*>(&entry), 0, sizeof entry);
    return number;
  }
  const std::uint32_t number = ++dealt;
  const position p = position_of(number);
  if (blocks[p.block].load(std::memory_order_relaxed) == nullptr) {  // [G]
    const std::size_t bytes = (std::size_t{first_block} << p.block) * sizeof(pool_entry);
    void* const memory = std::aligned_alloc(alignof(pool_entry), bytes);
    if (memory == nullptr) std::abort();  // an omp_lock_t cannot report it
    std::memset(memory, 0, bytes);
    blocks[p.block].store(static_cast<pool_entry*>(memory), std::memory_order_release);  // [B]
  }
  return number;
}

void give_back(std::uint32_t number) noexcept {
  const std::scoped_lock guard(pool_lock);
  at(number).next_free = first_free;
  first_free = number;
}

}  // namespace

pool_entry& entry_of(std::uint32_t* word) noexcept {
  const std::atomic_ref<std::uint32_t> number(*word);
  std::uint32_t known = number.load(std::memory_order_acquire);  // [N]
  if (__builtin_expect(known == 0, 0)) {
    const std::uint32_t fresh = take();
    if (number.compare_exchange_strong(known, fresh, std::memory_order_acq_rel,  // [N]
                                       std::memory_order_acquire))               // [N]
      known = fresh;
    else give_back(fresh);
  }
  return at(known);
}

void release_entry(std::uint32_t* word) noexcept {
  const std::uint32_t number =
      std::atomic_ref<std::uint32_t>(*word).exchange(0, std::memory_order_acq_rel);  // [N]
  if (number != 0) give_back(number);
}

}  // namespace syncopate::openmp
