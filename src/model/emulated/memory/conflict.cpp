#include "conflict.h"

#include <syncopate/machine/asymmetric_fence.h>
#include <syncopate/machine/nap.h>
#include <syncopate/machine/system_call.h>

#include <algorithm>

#include <sys/syscall.h>

#include "model/emulated/htm/observer.h"
#include "model/emulated/htm/transaction.h"
#include "model/emulated/options.h"
#include "model/emulated/threads/registry.h"

namespace syncopate::emulated {

namespace {

void give_up_if_doomed() noexcept {
  thread* const me = here.current;
  if (me != nullptr && is_doomed(*me)) abort_transaction(*me, reason::conflict, nullptr);
}

bool doom(thread& victim, std::uint64_t seen, line l, place where) noexcept {
  if (!victim.status.compare_exchange_strong(seen, status_word::doomed(seen, l),
                                             std::memory_order_seq_cst))
    return false;                                                           // [Q]
  if (observing) victim.requester.store(where, std::memory_order_release);  // [R]
  return true;
}

std::uint64_t holders(std::uint64_t word, use what) noexcept {
  return writer_slot_bit(word) | (what == use::write ? word & mark::readers : 0);
}

void doom_holder(unsigned slot, line l, place where) noexcept {
  thread* const victim = slot_owner[slot].load(std::memory_order_acquire);  // [L]
  if (victim == nullptr) return;
  const std::uint64_t status = victim->status.load(std::memory_order_seq_cst);  // [Q]
  if (status_word::state_of(status) != state::active) return;
  // Still that transaction's, not a later one's in the slot: the status was read before.
  const std::uint64_t word = shadow(l).load(std::memory_order_seq_cst);  // [Q]
  if (((word & mark::readers) | writer_slot_bit(word)) >> slot & 1) doom(*victim, status, l, where);
}

// Whether touches(accesses) for any thread but t: for what it does, or what a handler of its has
// interrupted. The order matters: announced.h, A2.
template <class Touches>
bool any_other_thread(const thread& t, Touches touches) noexcept {
  const std::lock_guard lock(registry);
  for (const thread* each = all_threads.load(std::memory_order_acquire); each != nullptr;  // [L]
       each = each->next_thread) {
    if (each == &t || each->local == nullptr) continue;
    if (touches(each->local->accesses)) return true;
    const unsigned told = each->interruptions_told.load(std::memory_order_acquire);  // [T]
    for (unsigned i = 0; i < told; ++i)
      if (touches(each->interruptions[i].accesses)) return true;
  }
  return false;
}

// Whether a thread may have been checked for the line before it became the transaction's, and
// access it yet. Only a transaction that always aborts has to ask: it runs beside the holder of the
// lock that orders all others' accesses. All processors fence: a thread's announcement is seen
// here, or that thread sees the transaction's mark.
bool may_be_accessed(const thread& t, line l) noexcept {
  return !fence_all_processors() || any_other_thread(t, [l](const announced_accesses& its) {
    return its.touch(l * line_bytes, (l + 1) * line_bytes);
  });
}

void note_line(thread& t, line l, place where) noexcept { t.lines.push({l, where}); }

// Waits until the line can be taken. Returns: its word.
std::uint64_t await_takeable(thread& t, line l, place where) noexcept {
  backoff wait;
  for (;;) {
    const std::uint64_t word = shadow(l).load(std::memory_order_acquire);  // [W]
    if ((word & mark::locked) != 0) {
      give_up_if_doomed();
      wait.once();
    } else if ((writer_slot_bit(word) & ~t.bit) != 0) {
      expel_holders(l, use::read, where);
    } else {
      return word;
    }
  }
}

}  // namespace

bool fence_all_processors() noexcept {
  return machine::detail::membarrier_ready.load(std::memory_order_relaxed) &&  // [K]
         machine::heavy_fence();
}

bool may_be_written(const thread& t, std::uintptr_t low, std::uintptr_t high) noexcept {
  return any_other_thread(t,
                          [=](const announced_accesses& its) { return its.touch_last(low, high); });
}

void backoff::once() noexcept {
  constexpr unsigned short_wait = 64;
  if (++turns_ < short_wait) return __builtin_ia32_pause();
  machine::system_call(SYS_sched_yield);
  machine::detail::nap_if_late(__builtin_ia32_rdtsc());
}

void expel_holders(line l, use what, place where) noexcept {
  backoff wait;
  for (;;) {
    const thread* const me = here.current;
    std::uint64_t others = holders(shadow(l).load(std::memory_order_acquire), what);  // [W]
    if (me != nullptr) others &= ~me->bit;
    if (others == 0) return;
    give_up_if_doomed();
    for (; others != 0; others &= others - 1) {
      doom_holder(static_cast<unsigned>(std::countr_zero(others)), l, where);
    }
    wait.once();
  }
}

void expel_stack_owner(line l, place where) noexcept {
  const std::uintptr_t at = l * line_bytes;
  for (thread* t = all_threads.load(std::memory_order_acquire); t != nullptr;  // [L]
       t = t->next_thread) {
    if (t == here.self || !on_own_stack(*t, at + line_bytes - 1)) continue;
    backoff wait;
    for (;;) {
      const std::uint64_t status = t->status.load(std::memory_order_seq_cst);  // [Q]
      if (status_word::state_of(status) == state::idle) break;
      if (at + line_bytes <= t->live_from.load(std::memory_order_relaxed)) break;  // [V]
      give_up_if_doomed();
      if (status_word::state_of(status) == state::active) doom(*t, status, l, where);
      wait.once();
    }
  }
}

void acquire_for_read(thread& t, line l, place where) noexcept {
  for (;;) {
    std::uint64_t word = await_takeable(t, l, where);
    if (shadow(l).compare_exchange_weak(word, word | t.bit, std::memory_order_acq_rel,  // [M]
                                        std::memory_order_relaxed))                     // [G]
      break;
  }
  note_line(t, l, where);
  if (++t.read_lines > options.read_lines) {
    abort_transaction(t, reason::read_capacity, where);
  }
}

void acquire_for_write(thread& t, line l, place where) noexcept {
  std::uint64_t word;
  for (;;) {
    word = await_takeable(t, l, where);
    const std::uint64_t taken = ((word & ~mark::writer) | t.bit | t.writer) + mark::one_version;
    if (shadow(l).compare_exchange_weak(word, taken, std::memory_order_acq_rel,  // [M]
                                        std::memory_order_relaxed))              // [G]
      break;
  }
  if ((word & t.bit) == 0) note_line(t, l, where);
  if ((word & mark::readers & ~t.bit) != 0) expel_holders(l, use::write, where);
  if ((word & mark::stack) != 0) expel_stack_owner(l, where);
  if (t.mode == machine::htm::mode::always_abort && may_be_accessed(t, l))
    abort_transaction(t, reason::conflict, where);
  ++t.written_lines;
  if (++t.set_use[l % options.sets] > options.ways) {
    abort_transaction(t, reason::write_capacity, where);
  }
}

void release_lines(thread& t) noexcept {
  for (const touched_line* each = t.lines.next; each-- != t.lines.first;) {
    shadow_word& word = shadow(each->at);
    const bool written = (word.load(std::memory_order_relaxed) & mark::writer) == t.writer;  // [O]
    word.fetch_and(~(t.bit | (written ? mark::writer : 0)), std::memory_order_release);      // [U]
  }
  t.lines.clear();
}

line_lock::line_lock(std::uintptr_t at, use what, place where) noexcept
    : word_(shadow(line_of(at))) {
  settle_accesses();
  backoff wait;
  std::uint64_t word = word_.load(std::memory_order_relaxed);  // [G]
  while ((word & mark::locked) != 0 ||
         !word_.compare_exchange_weak(word, word | mark::locked, std::memory_order_acquire,  // [M]
                                      std::memory_order_relaxed)) {                          // [G]
    if ((word & mark::locked) != 0) {
      wait.once();
      word = word_.load(std::memory_order_relaxed);  // [G]
    }
  }
  if (holders(word, what) != 0) expel_holders(line_of(at), what, where);
  if (what == use::write && (word & mark::stack) != 0) expel_stack_owner(line_of(at), where);
}

line_lock::~line_lock() { word_.fetch_and(~mark::locked, std::memory_order_release); }  // [U]

}  // namespace syncopate::emulated
