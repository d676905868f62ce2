// waiter_queue.h -- who waits for a reader-writer lock, in order, and who goes on together. Plain
// data: auto_rwlock guards it, and owns what the elements say of turns.
//
// Invariants
//   I1  queued is true exactly for the elements that first() reaches through next.
//   I2  An element is in one queue at most; its owner waits in the call that made it.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

namespace syncopate {

enum class rw_preference { readers, writers };
enum class rw_role : std::uint8_t { reader, writer };

struct rw_waiter {
  rw_waiter* next = nullptr;
  rw_waiter* previous = nullptr;
  std::uint64_t arrival = 0;  // ticks; once granted, when that was
  rw_role as = rw_role::reader;
  rw_preference prefers = rw_preference::readers;
  bool queued = false;
  bool was_overtaken = false;  // woken in vain
  enum : std::uint32_t { waiting = 0, woken = 1, granted = 2 };
  std::atomic<std::uint32_t> turn{waiting};
};

class rw_waiter_queue {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return head_ == nullptr; }
  [[nodiscard]] rw_waiter* first() const noexcept { return head_; }

  void check_invariants() const noexcept {
    [[maybe_unused]] const rw_waiter* before = nullptr;
    for (const rw_waiter* w = head_; w != nullptr; before = w, w = w->next)
      assert(w->queued && w->previous == before);  // I1
    assert(tail_ == before);
  }

  // Who would leave with the first waiter: a writer alone, or all readers that may go on.
  struct company {
    std::uint32_t readers;  // 0: a writer
    bool others_stay;
  };
  // Requires: not empty.
  [[nodiscard]] company who_goes() const noexcept {
    company going{0, head_->next != nullptr};
    if (head_->as == rw_role::writer) return going;
    going.others_stay = false;
    for (const rw_waiter* w = head_; w != nullptr; w = w->next) {
      if (goes_along(*w, going.others_stay)) ++going.readers;
      else going.others_stay = true;
    }
    return going;
  }

  // Takes out the first waiter, a writer, or all readers that may go on. They stay linked through
  // `next`. Returns the first of them, or null.
  rw_waiter* take_out(rw_role as) noexcept {
    rw_waiter* first = nullptr;
    rw_waiter** end = &first;
    bool others_stay = false;
    for (rw_waiter *w = head_, *next; w != nullptr; w = next) {
      next = w->next;
      if (as == rw_role::writer || goes_along(*w, others_stay)) {
        remove(*w);
        w->next = nullptr;
        *end = w;
        end = &w->next;
      } else {
        others_stay = true;
      }
      if (as == rw_role::writer) break;
    }
    return first;
  }

  // Requires: not queued. `front`: it was woken, and overtaken.
  void insert(rw_waiter& me, bool front) noexcept {
    me.queued = true;
    me.was_overtaken = front;
    me.previous = front ? nullptr : tail_;
    me.next = front ? head_ : nullptr;
    (me.previous != nullptr ? me.previous->next : head_) = &me;
    (me.next != nullptr ? me.next->previous : tail_) = &me;
  }

  // Requires: queued.
  void remove(rw_waiter& me) noexcept {
    me.queued = false;
    (me.previous != nullptr ? me.previous->next : head_) = me.next;
    (me.next != nullptr ? me.next->previous : tail_) = me.previous;
  }

 private:
  // Whether a waiter goes on with the readers before it, some of whom may stand before a writer.
  static bool goes_along(const rw_waiter& w, bool behind_writer) noexcept {
    return w.as == rw_role::reader && (!behind_writer || w.prefers == rw_preference::readers);
  }

  rw_waiter* head_{nullptr};
  rw_waiter* tail_{nullptr};
};

}  // namespace syncopate
