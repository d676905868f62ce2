// node_pool.h -- nodes that outlive the call that took them, without malloc and without a
// destructor per thread.
//
// Used by queue locks whose node stays with the successor (clh_lock). Allocation must be possible
// inside a program's own malloc, so memory comes from one lazily touched anonymous mapping. Nodes
// are never unmapped: a slow thread may still read a node that was given back (type-stable memory).
//
// Space         64 B per node in circulation: at most one per thread that holds or awaits a lock of
//               this kind, times the locks it holds.
// Progress      lock-free. Async-signal-safe. Works in the child of a fork.
//
// Memory order (each tag stands at its site below)
//   [M]  acq_rel publication of the mapping, acquire load of its address.
//   [P]  release RMW of a stripe's head by give_back -- synchronizes with [T].
//   [T]  acquire load of the head by take: the node's next, and what its last user wrote,
//        happen-before its reuse.
//   [X]  relaxed: needs atomicity only, or is read again by the RMW that decides. The RMW of take
//        finds the very value that [T] read: the change count makes each unique.
#pragma once

#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include <sys/mman.h>

namespace syncopate {

template <class Node>
class node_pool {
 public:
  // Returns the index (>= 2) of a node nobody else has. Ends the process only when 2^20 nodes are
  // in circulation or the address space is used up.
  static std::uint32_t take() noexcept {
    const std::uint32_t index = try_take();
    if (index == 0) std::abort();
    return index;
  }

  // The same; returns 0 where take() ends the process.
  static std::uint32_t try_take() noexcept {
    if (base() == nullptr) return 0;
    const unsigned home = machine::processor() % stripes;
    for (unsigned i = 0; i < stripes; ++i)
      if (const std::uint32_t index = pop(free_[(home + i) % stripes].head)) return index;
    const std::uint32_t fresh = used_.fetch_add(1, std::memory_order_relaxed);  // [X]
    return fresh < capacity ? fresh : 0;
  }

  // Requires: taken, and no other thread will follow a pointer to it into a decision.
  static void give_back(std::uint32_t index) noexcept {
    push(free_[machine::processor() % stripes].head, index);
  }

  // Requires: index was returned by take().
  static Node& at(std::uint32_t index) noexcept { return base()[index].node; }

 private:
  struct alignas(64) cell {
    Node node;
    std::atomic<std::uint32_t> next;  // index of the next free cell; 0 ends the list
  };
  struct alignas(64) stripe {
    std::atomic<std::uint64_t> head{0};  // index in the low half, change count in the high half
  };
  static constexpr std::uint32_t capacity = 1u << 20;
  static constexpr std::uint32_t first = 2;  // 0 and 1 are free for the lock's own meanings
  static constexpr unsigned stripes = 16;

  // Null where there is no room for the cells; never once a node was taken.
  static cell* base() noexcept {
    cell* cells = base_.load(std::memory_order_acquire);  // [M]
    return __builtin_expect(cells != nullptr, 1) ? cells : map();
  }

  [[gnu::noinline, gnu::cold]] static cell* map() noexcept {
    void* fresh = ::mmap(nullptr, sizeof(cell) * capacity, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED) return nullptr;
    cell* expected = nullptr;
    if (base_.compare_exchange_strong(expected, static_cast<cell*>(fresh),
                                      std::memory_order_acq_rel, std::memory_order_acquire))  // [M]
      return static_cast<cell*>(fresh);
    ::munmap(fresh, sizeof(cell) * capacity);
    return expected;
  }

  // The change count in the high half defeats the ABA problem: a head that was popped and pushed
  // again in between differs.
  static std::uint32_t pop(std::atomic<std::uint64_t>& head) noexcept {
    for (;;) {
      std::uint64_t old = head.load(std::memory_order_acquire);  // [T]
      const auto index = static_cast<std::uint32_t>(old);
      if (index == 0) return 0;
      const std::uint64_t next = base()[index].next.load(std::memory_order_relaxed);  // [X]
      if (head.compare_exchange_weak(old, ((old >> 32) + 1) << 32 | next,
                                     std::memory_order_relaxed,   // [X]
                                     std::memory_order_relaxed))  // [X]
        return index;
    }
  }

  static void push(std::atomic<std::uint64_t>& head, std::uint32_t index) noexcept {
    std::uint64_t old = head.load(std::memory_order_relaxed);  // [X]
    do {
      base()[index].next.store(static_cast<std::uint32_t>(old), std::memory_order_relaxed);  // [X]
    } while (!head.compare_exchange_weak(old, ((old >> 32) + 1) << 32 | index,
                                         std::memory_order_release,    // [P]
                                         std::memory_order_relaxed));  // [X]
  }

  static inline constinit std::atomic<cell*> base_{nullptr};
  static inline constinit std::atomic<std::uint32_t> used_{first};
  static inline constinit stripe free_[stripes]{};
};

}  // namespace syncopate
