// write_predictor.h -- what a thread has seen of the places where its transactions begin: whether
// they soon write, so that the next one had better be the writer from its beginning.
//
// A table by hash: places that share an entry share what was seen, which costs time only.
#pragma once

#include "tm/logs/memory.h"

#include <syncopate/machine.h>

namespace syncopate::tm {

class write_predictor {
 public:
  enum class next : u8 { unknown, measure, write_at_once };

  // What the transaction that begins at `place` is to do.
  [[nodiscard, gnu::always_inline]] next ask(const void* place) noexcept {
    u8& seen = of(place);
    if (__builtin_expect(seen == nothing || seen >= late, 0)) return next::unknown;
    if (seen < sure) return next::measure;
    seen = seen < sure + again ? seen + 1 : sure - 1;
    return next::write_at_once;
  }

  // It has come to its first write, `ticks` after its beginning; 0: not measured.
  void has_written(const void* place, u64 ticks) noexcept {
    u8& seen = of(place);
    if (seen >= late) seen = seen == late ? first : seen - 1;
    else if (seen == nothing) seen = first;
    else if (ticks != 0) seen = ticks < soon() ? seen + 1 : longest;
  }
  // It has committed without, though it was measured.
  void has_only_read(const void* place) noexcept { of(place) = nothing; }

 private:
  // State of an entry: nothing; [first, sure) it has written so often, one after the other; then,
  // `again` times, it writes at once; [late, longest] how many more writes until the next measure.
  static constexpr u8 nothing = 0, first = 1, late = 128, longest = 255;
  static constexpr u8 sure = machine::is_modeled ? 1 : 4;
  static constexpr u8 again = machine::is_modeled ? 8 : 100;
  static constexpr unsigned entries = 64;

  // Before its first write, a transaction runs beside others, but takes up to twice as long as code
  // that is not instrumented. So on two processors nothing is lost by what reads memory; but what
  // computes for long gains from them.
  [[nodiscard]] static u64 soon() noexcept {
    constexpr u64 ten_microseconds = 25'000;  // about, in ticks
    return machine::processors() <= 2 ? ten_microseconds : ten_microseconds / 20;
  }

  u8& of(const void* place) noexcept {
    return seen_[(reinterpret_cast<address>(place) >> 2) * 0x9e3779b97f4a7c15u >> 58];
  }

  u8 seen_[entries] = {};
};

}  // namespace syncopate::tm
