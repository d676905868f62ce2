#include "access.h"

#include <algorithm>

#include "model/emulated/htm/events.h"

namespace syncopate::emulated {

namespace {

line last_line(std::uintptr_t at, std::size_t bytes) noexcept { return line_of(at + bytes - 1); }

void count_access(thread& t, place where) noexcept {
  if (!goes_on(t)) happen(t, where);
}

// Entries of at most 8 bytes, of sizes that roll_back() can store at once.
void log_range(thread& t, std::uintptr_t at, std::size_t bytes) noexcept {
  {
    const runtime_scope inside;
    t.undo.reserve(t.undo.size() + bytes / 8 + 4);
  }
  // Outside of the scope: the program's address may be a bad one.
  for (; bytes >= 8; at += 8, bytes -= 8) log_old(t, at, 8);
  for (unsigned size = 4; size != 0; size /= 2) {
    if ((bytes & size) == 0) continue;
    log_old(t, at, size);
    at += size;
  }
}

// The machine's own accesses, by the instrumented parts of the standard library: two threads that
// end their transactions would wait for each other's lines.
bool is_own_access() noexcept { return here.own != 0; }

void announce_foreign_write(std::uintptr_t at, std::size_t bytes) noexcept {
  const runtime_scope inside;
  self().foreign_write.announce(at, at + bytes);
  here.has_more_to_settle = true;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // [F] before the owner's status is read
}

}  // namespace

void read_outside(std::uintptr_t at, std::size_t bytes, place where) noexcept {
  if (is_own_access()) return;
  const line last = last_line(at, bytes);
  for (line l = line_of(at); l <= last; ++l) {
    // An atomic operation in the line is of no concern for a plain read.
    if ((owner_of(l) & (mark::writer >> mark::writer_shift)) != 0)
      expel_holders(l, use::read, where);
  }
}

void write_outside(std::uintptr_t at, std::size_t bytes, place where) noexcept {
  if (is_own_access()) return;
  bool announced = false;
  const line last = last_line(at, bytes);
  for (line l = line_of(at); l <= last; ++l) {
    const std::uint64_t word = shadow(l).load(std::memory_order_relaxed);  // [W]
    if ((word & (mark::readers | mark::writer)) != 0) expel_holders(l, use::write, where);
    if ((word & mark::stack) == 0 || (here.self != nullptr && on_own_stack(*here.self, at)))
      continue;
    if (!announced) announce_foreign_write(at, bytes);
    announced = true;
    expel_stack_owner(l, where);
  }
}

// The own stack: its copy is put back, and who else writes there dooms this transaction.
void read_inside(std::uintptr_t at, std::size_t bytes, place where) noexcept {
  thread& t = *here.current;
  if (!on_own_stack(t, at)) {
    const line last = last_line(at, bytes);
    for (line l = line_of(at); l <= last; ++l) {
      if ((shadow(l).load(std::memory_order_relaxed) & t.bit) != 0) continue;  // [W]
      const runtime_scope inside;
      acquire_for_read(t, l, where);
    }
  }
  count_access(t, where);
}

void write_inside(std::uintptr_t at, std::size_t bytes, place where) noexcept {
  thread& t = *here.current;
  const bool own_stack = on_own_stack(t, at);
  if (own_stack) {
    // Below begin's stack pointer are frames that the roll-back forgets, and runs on itself:
    // nothing there may be logged.
    const std::uintptr_t live = t.live_from.load(std::memory_order_relaxed);  // [O]
    const std::uintptr_t from = std::max(at, live);
    if (from >= at + bytes) return count_access(t, where);
    bytes -= from - at;
    at = from;
  }
  const line last = last_line(at, bytes);
  for (line l = line_of(at); l <= last; ++l) {
    if (owner_of(l) == t.writer_byte) continue;
    const runtime_scope inside;
    acquire_for_write(t, l, where);
  }
  count_access(t, where);
  if (!own_stack) log_range(t, at, bytes);
}

}  // namespace syncopate::emulated
