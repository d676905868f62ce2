// rows.h -- what is written of waits and holds: rows (every wait, exactly) and events (some, with
// weights).
#pragma once

#include "record/threads.h"

namespace syncopate::record {

// A wait this long is always worth an event: it has paid for it.
inline std::uint64_t long_wait() noexcept { return milliseconds(1); }

constexpr std::uint32_t row_kind(wait_kind kind) noexcept {
  return static_cast<std::uint32_t>(kind);
}

// Adds `weight` waits, or holds, of so many ticks.
void count(wait_row&, std::uint64_t ticks, std::uint32_t weight = 1) noexcept;

// An event that is left out, and stands for `weight` of them.
void skip_event(std::uint32_t& skipped, std::uint32_t weight = 1) noexcept;
// Fills in the weight, and writes it, or counts it as skipped where the record is full.
void write_event(thread_state&, std::uint32_t& skipped, event) noexcept;
// A wait that is over.
void write_wait(thread_state&, const wait&) noexcept;
// One of the thread's waits for a lock has ended, or is to end, without it.
void count_in_vain(thread_state&, std::uint32_t lock) noexcept;
// Now and then, so that the record of a killed program says when it ended.
void touch_header(std::uint64_t now) noexcept;

// Whether to ask the kernel about a wait that becomes an event. That takes about 2 us in all, half
// of it with the lock held; so after a thread's first ones, at one event in sixteen.
inline bool asks_usage(thread_state& t) noexcept {
  constexpr std::uint32_t first_ones = 24, one_in = 16;
  const std::uint32_t turn = t.usage_turn++;
  return turn < first_ones || turn % one_in == 0;
}

// Of how many `ticks` the thread had a processor, by its clock of processor time.
std::uint64_t on_processor(std::uint64_t cpu_ns, std::uint64_t ticks) noexcept;

inline void note_waited(thread_state& t, const wait& w) noexcept {
  t.waited += w.end > w.start ? w.end - w.start : 0;
  ++t.waits;
}

}  // namespace syncopate::record
