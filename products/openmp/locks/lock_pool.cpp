// lock_pool.cpp -- the pool of locks that do not fit a program's word.
//
// Numbers are dealt from 1. Entry n lies in block floor(log2(n / 64 + 1)); blocks double, are
// never moved and never given back, so that a number can be followed without a lock. Free entries
// form a list, which only makers and releasers touch, under a lock of their own.
//
// Memory order (each tag stands at its site below)
//   [L]  acquire load of the list of runtimes (caller.cpp).
//   [B]  release store of a block, acquire load: who follows a number into it finds it cleared.
//   [G]  relaxed: under pool_lock.
//   [N]  acq_rel RMW that gives a word its number or takes it away, acquire where another was
//        first: the entry is as take() has left it.
//   [H]  relaxed: stored before the word has the number [N]. Of an entry that was given back, or
//        is another lock's now, any value but ours says the same.

#include <syncopate/locks/tatas_lock.h>
#include <syncopate/wait/spin_then_park.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "openmp/locks/locks.h"
#include "openmp/runtime/runtime.h"

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

std::atomic_ref<std::uint32_t> home(pool_entry& entry) noexcept {
  return std::atomic_ref<std::uint32_t>(entry.home);
}

// A name for the word's place that no other lock of the program has, as good as surely; not 0.
std::uint32_t home_of(const std::uint32_t* word) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(word) / alignof(std::uint32_t);
  return static_cast<std::uint32_t>(place ^ place >> 32) | 1u << 31;
}

std::uint32_t take() noexcept {
  const std::scoped_lock guard(pool_lock);
  if (first_free != 0) {
    const std::uint32_t number = first_free;
    pool_entry& entry = at(number);
    std::memcpy(&first_free, entry.object, sizeof first_free);
    std::memset(entry.object, 0, sizeof entry.object);
    entry.owner = 0;
    entry.depth = 0;
    entry.named_by = nullptr;
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
  pool_entry& entry = at(number);
  home(entry).store(0, std::memory_order_relaxed);  // [H]
  std::memcpy(entry.object, &first_free, sizeof first_free);
  first_free = number;
}

bool copies_are_the_same() noexcept {
  for (const runtime* r = loaded_from(runtimes.load(std::memory_order_acquire));  // [L]
       r != nullptr; r = loaded_from(r->next))
    if (r->kind == family::llvm) return true;
  return false;
}

// The word has no entry yet, or that of the lock of which it is a copy.
pool_entry& make_entry(std::uint32_t* word, std::uint32_t known) noexcept {
  if (known != 0 && copies_are_the_same()) return at(known);
  const std::uint32_t fresh = take(), here = home_of(word);
  home(at(fresh)).store(here, std::memory_order_relaxed);  // [H]
  const std::atomic_ref<std::uint32_t> number(*word);
  while (!number.compare_exchange_weak(known, fresh, std::memory_order_acq_rel,           // [N]
                                       std::memory_order_acquire)) {                      // [N]
    if (known == 0 || home(at(known)).load(std::memory_order_relaxed) != here) continue;  // [H]
    give_back(fresh);
    return at(known);
  }
  return at(fresh);
}

}  // namespace

pool_entry& entry_of(std::uint32_t* word) noexcept {
  const std::uint32_t known =
      std::atomic_ref<std::uint32_t>(*word).load(std::memory_order_acquire);  // [N]
  if (__builtin_expect(known != 0, 1)) {
    pool_entry& entry = at(known);
    if (__builtin_expect(home(entry).load(std::memory_order_relaxed) == home_of(word), 1))  // [H]
      return entry;
  }
  return make_entry(word, known);
}

pool_entry& held_entry(std::uint32_t* word) noexcept {
  const std::uint32_t known =
      std::atomic_ref<std::uint32_t>(*word).load(std::memory_order_acquire);  // [N]
  return __builtin_expect(known != 0, 1) ? at(known) : make_entry(word, known);
}

void release_entry(std::uint32_t* word) noexcept {
  const std::uint32_t number =
      std::atomic_ref<std::uint32_t>(*word).exchange(0, std::memory_order_acq_rel);  // [N]
  if (number == 0) return;
  const bool is_its_own = home(at(number)).load(std::memory_order_relaxed) == home_of(word);  // [H]
  if (is_its_own || copies_are_the_same()) give_back(number);
}

}  // namespace syncopate::openmp
