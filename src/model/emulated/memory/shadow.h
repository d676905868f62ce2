// shadow.h -- who holds which cache line: one 64-bit word for each line of 64 bytes of the
// address space, in a linear map of which only the touched pages exist. Exact: no two lines share a
// word.
//
//   bits  0..38  readers: the transaction in slot i has the line in its read set
//   bit      39  stack: the line may lie in a live stack (thread.h)
//   bits 40..46  writer: slot + 1 of the transaction that has written the line; 0 none
//   bit      47  locked: an atomic operation outside transactions is being made in the line
//   bits 48..63  version: counts the transactions that became writer, so that a load can tell that
//                none came and went meanwhile
//
// Invariants
//   S1  A writer is a reader, too; while a line has a writer it has no other reader, unless one of
//       the two waits in expel_holders() for the other's roll-back.
//   S2  A reader's or writer's mark is set by its own thread only, and cleared by it after memory
//       is as others may see it: after commit, or after roll-back.
//   S3  Nobody becomes reader or writer of a line that is locked.
//
// Memory order (each tag stands at its site below)
//   [M]  release store when the map is made, acquire load.
//   [G]  relaxed: a hint; who needs to know reads the whole word.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace syncopate::emulated {

using line = std::uintptr_t;  // an address divided by the bytes of a line
inline constexpr std::uintptr_t line_bytes = 64;
inline line line_of(std::uintptr_t address) noexcept { return address / line_bytes; }
inline line line_of(const volatile void* p) noexcept {
  return line_of(reinterpret_cast<std::uintptr_t>(p));
}

inline constexpr unsigned slots = 39;  // transactions that can run at the same time

namespace mark {
inline constexpr std::uint64_t readers = (std::uint64_t{1} << slots) - 1;
inline constexpr std::uint64_t stack = std::uint64_t{1} << 39;
inline constexpr unsigned writer_shift = 40;
inline constexpr std::uint64_t writer = std::uint64_t{0x7f} << writer_shift;
inline constexpr std::uint64_t locked = std::uint64_t{1} << 47;
inline constexpr std::uint64_t one_version = std::uint64_t{1} << 48;
inline constexpr std::uint64_t version = ~(one_version - 1);
// Whether there is anything beside the version; shorter than by a mask of 64 bits.
constexpr bool any(std::uint64_t word) noexcept { return word << 16 != 0; }
static_assert(!any(version) && any(locked) && any(1));
}  // namespace mark

// Where programs and the system put nothing: below all of them with position-independent code,
// above the others.
inline constexpr std::uintptr_t shadow_base = 0x1000'0000'0000;
inline constexpr std::size_t shadow_bytes = (std::size_t{1} << 47) / line_bytes * 8;

static_assert(std::endian::native == std::endian::little);
using shadow_word = std::atomic<std::uint64_t>;

inline shadow_word& shadow(line l) noexcept {
  return reinterpret_cast<shadow_word*>(shadow_base)[l];
}
// The byte with the writer and the lock: what a read outside transactions has to look at.
inline std::uint8_t owner_of(line l) noexcept {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(shadow_base);
  return __atomic_load_n(bytes + 8 * l + 5, __ATOMIC_RELAXED);  // [G]
}
inline std::uint64_t writer_slot_bit(std::uint64_t word) noexcept {
  const std::uint64_t number = (word & mark::writer) >> mark::writer_shift;
  return number == 0 ? 0 : std::uint64_t{1} << (number - 1);
}

// Makes the map; nothing when it is there. Ends the process when the system refuses.
void make_shadow() noexcept;
inline constinit std::atomic<bool> shadow_made{false};
inline bool shadow_is_there() noexcept {
  return shadow_made.load(std::memory_order_acquire);  // [M]
}
// Forgets all marks. Requires: no other thread runs (a child of fork).
void clear_shadow() noexcept;

}  // namespace syncopate::emulated
