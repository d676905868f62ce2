// announced.h -- what a thread says of its plain accesses outside transactions before it makes
// them. The check comes first, the access after it: whoever takes a line, or copies a stack, and is
// not ordered with the access finds it here.
//
// Invariants
//   A1  A plain access is announced from before its check until a later access, an atomic operation
//       or a call of foreign code tells that it has been made.
//   A2  A signal's handler may run between check and access. Its own accesses take the places of
//       those that it has interrupted; so these stand in `interruptions` from before the handler's
//       first access until after they have been put back. Who looks, looks there last.
//
// Memory order (each tag stands at its site below)
//   [A]  release stores, the end of a range before its beginning; relaxed where what was there is
//        over, or is the thread's own: who finds an announcement finds the whole one, and who finds
//        it gone sees the access made.
//   [L]  acquire loads by others -- synchronize with [A].
//   [T]  release store of how many interrupted ones are told: they are complete.
//   [O]  relaxed: the thread's own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shadow.h"

namespace syncopate::emulated {

// The last plain access, and the last ranges, of which a library call has two; 0: none.
struct announced_accesses {
  struct range {
    std::atomic<std::uintptr_t> at{0}, end{0};
  };
  std::atomic<std::uintptr_t> last{0};
  range ranges[2];

  // By the thread itself: they have been made.
  void settle() noexcept {
    last.store(0, std::memory_order_release);                                // [A]
    for (range& each : ranges) each.at.store(0, std::memory_order_release);  // [A]
  }
  void copy(const announced_accesses& other) noexcept;
  // Whether one of them may lie in [low, high). Requires: both are multiples of a line's bytes.
  [[nodiscard]] bool touch(std::uintptr_t low, std::uintptr_t high) const noexcept;
  // The same of the one that was announced last; of a copy that is the write.
  [[nodiscard]] bool touch_last(std::uintptr_t low, std::uintptr_t high) const noexcept;
};

// Bytes of another thread's stack that are being written outside transactions: a roll-back puts
// back whole stacks. Who begins a transaction on that stack waits.
class write_to_foreign_stack {
 public:
  // By the writer, before its check; it fences.
  void announce(std::uintptr_t at, std::uintptr_t end) noexcept {
    at_.store(0, std::memory_order_relaxed);     // [A]
    end_.store(end, std::memory_order_release);  // [A]
    at_.store(at, std::memory_order_release);    // [A]
  }
  // By the writer, at its next atomic operation, transaction or end: then the write has been made.
  void settle() noexcept { at_.store(0, std::memory_order_release); }  // [A]
  void copy(const write_to_foreign_stack& other) noexcept {
    announce(other.at_.load(std::memory_order_relaxed),
             other.end_.load(std::memory_order_relaxed));  // [A]
  }

  // Returns: where it begins, when it overlaps [low, high); else 0.
  [[nodiscard]] std::uintptr_t overlaps(std::uintptr_t low, std::uintptr_t high) const noexcept {
    const std::uintptr_t at = at_.load(std::memory_order_acquire);            // [L]
    return at < high && end_.load(std::memory_order_acquire) > low ? at : 0;  // [L]
  }

 private:
  std::atomic<std::uintptr_t> at_{0}, end_{0};
};

// What a handler has interrupted (A2).
struct interruption {
  announced_accesses accesses;
  write_to_foreign_stack foreign_write;
  std::uintptr_t frame = 0;  // of the handler; a frame that is gone was left by a jump
};

}  // namespace syncopate::emulated
