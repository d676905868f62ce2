// access.h -- the check at each access, for the compiler's calls to inline. What is usual ends
// here; all else is a jump to a function that does the whole work.
//
// Outside transactions: no transaction may have written the line; before a write none may have read
// it either. The access itself comes after the check, so two accesses that race by the language's
// rules may be torn apart by a transaction in between; atomic operations are exact
// (seam/atomic_seam.h). In a transaction: the line is the transaction's own, what is overwritten is
// logged.
//
// Memory order (each tag stands at its site below)
//   [A]  announcement before the look at the line's word. Who takes the line stores its mark, and
//        executes a heavy fence before it looks at announcements: one of the two sees the other. A
//        range is stored end before beginning, with release; a single one comes last.
//   [W]  relaxed look at the line's word: the thread's own bit, or a mark that [A] pairs with;
//        whoever finds one asks again with RMWs (conflict.h).
//   [F]  full fence instead of the heavy one, for the write to another thread's stack.
//   [O]  relaxed: the thread's own.
//   [C]  compiler barrier: for signals of this thread, and for the heavy fence of others.
#pragma once

#include "conflict.h"
#include "model/emulated/htm/transaction.h"

namespace syncopate::emulated {

// Whole ranges, lines that are not ours yet, doomed transactions, due events.
[[gnu::noinline]] void read_outside(std::uintptr_t at, std::size_t bytes, place where) noexcept;
[[gnu::noinline]] void write_outside(std::uintptr_t at, std::size_t bytes, place where) noexcept;
[[gnu::noinline]] void read_inside(std::uintptr_t at, std::size_t bytes, place where) noexcept;
[[gnu::noinline]] void write_inside(std::uintptr_t at, std::size_t bytes, place where) noexcept;

// What is old at [at, at + bytes), bytes <= 8. Requires: room for the entry.
[[gnu::always_inline]] inline void log_old(thread& t, std::uintptr_t at, unsigned bytes) noexcept {
  undo_entry& entry = *t.undo.next;
  entry.where = at | std::uint64_t{bytes} << 48;
  if (bytes == 8) entry.old = *reinterpret_cast<const std::uint64_t*>(at);
  else if (bytes == 4) entry.old = *reinterpret_cast<const std::uint32_t*>(at);
  else if (bytes == 2) entry.old = *reinterpret_cast<const std::uint16_t*>(at);
  else entry.old = *reinterpret_cast<const std::uint8_t*>(at);
  std::atomic_signal_fence(std::memory_order_release);  // [C] a signal's abort finds whole entries
  ++t.undo.next;
}

// Whether the transaction can go on: not doomed, and nothing is due.
[[gnu::always_inline]] inline bool goes_on(thread& t) noexcept {
  return !is_doomed(t) && --t.countdown >= 0;
}

// An access outside transactions is about to be checked and made: for transactions that always
// abort (conflict.cpp).
[[gnu::always_inline]] inline void announce(std::uintptr_t at) noexcept {
  here.accesses.last.store(at, std::memory_order_relaxed);  // [A]
  std::atomic_signal_fence(std::memory_order_seq_cst);      // [C]
}
inline void announce_range(std::uintptr_t at, std::size_t bytes) noexcept {
  auto& range = here.accesses.ranges[here.next_range++ % 2];
  range.at.store(0, std::memory_order_relaxed);             // [A]
  range.end.store(at + bytes, std::memory_order_release);   // [A]
  range.at.store(at, std::memory_order_release);            // [A]
  here.accesses.last.store(at, std::memory_order_release);  // [A]
  std::atomic_signal_fence(std::memory_order_seq_cst);      // [C]
}

// Requires: the bytes lie in one line.
[[gnu::always_inline]] inline void read(const volatile void* p, unsigned bytes,
                                        place where) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  thread* const t = here.current;
  if (t == nullptr) [[likely]] {
    announce(at);
    if (owner_of(line_of(at)) != 0) [[unlikely]]
      read_outside(at, bytes, where);
    return;
  }
  if ((shadow(line_of(at)).load(std::memory_order_relaxed) & t->bit) == 0 || !goes_on(*t))  // [W]
      [[unlikely]] {
    read_inside(at, bytes, where);
  }
}

[[gnu::always_inline]] inline void write(const volatile void* p, unsigned bytes,
                                         place where) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  thread* const t = here.current;
  if (t == nullptr) [[likely]] {
    announce(at);
    if (mark::any(shadow(line_of(at)).load(std::memory_order_relaxed))) [[unlikely]]  // [W]
      write_outside(at, bytes, where);
    return;
  }
  const std::ptrdiff_t room =
      reinterpret_cast<char*>(t->undo.end) - reinterpret_cast<char*>(t->undo.next);
  if (owner_of(line_of(at)) != t->writer_byte || room < std::ptrdiff_t{2 * sizeof(undo_entry)} ||
      !goes_on(*t)) [[unlikely]] {
    write_inside(at, bytes, where);
    return;
  }
  log_old(*t, at, bytes < 8 ? bytes : 8);
  if (bytes == 16) log_old(*t, at + 8, 8);
}

inline bool crosses_lines(std::uintptr_t at, std::size_t bytes) noexcept {
  return at % line_bytes + bytes > line_bytes;
}

inline void read_range(std::uintptr_t at, std::size_t bytes, place where) noexcept {
  if (here.current != nullptr) return read_inside(at, bytes, where);
  announce_range(at, bytes);
  read_outside(at, bytes, where);
}
inline void write_range(std::uintptr_t at, std::size_t bytes, place where) noexcept {
  if (here.current != nullptr) return write_inside(at, bytes, where);
  announce_range(at, bytes);
  write_outside(at, bytes, where);
}

}  // namespace syncopate::emulated
