// unwritten.h -- what stands in the program's memory before anybody writes there, where the program
// runs several times: the same in each run, and unlikely to be written. So what a library that is
// not instrumented has written is told from what nobody has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/front/program/layout.h"

namespace syncopate::instrument::unwritten {

inline constexpr unsigned char filling = 0xcb;
inline constexpr std::size_t of_block = std::size_t{1} << 12;  // large blocks: their first bytes
inline constexpr std::size_t of_stack = std::size_t{1} << 11;

inline void fill(void* start, std::size_t bytes) noexcept { std::memset(start, filling, bytes); }

// Whether these bytes are of a heap block or a stack of the program, and all as they were.
inline bool are(std::uintptr_t at, std::size_t bytes) noexcept {
  using namespace layout;
  if (at - heap >= heap_bytes && at - stacks >= stack_slots * stack_slot) return false;
  const auto* const first = reinterpret_cast<const unsigned char*>(at);
  return std::all_of(first, first + bytes, [](unsigned char byte) { return byte == filling; });
}

}  // namespace syncopate::instrument::unwritten
