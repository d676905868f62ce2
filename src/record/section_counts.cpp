// section_counts.cpp -- what is no wait, but counted by lock and kind: transactions, runs ahead,
// who came last.
#include "record/objects.h"
#include "record/rows.h"

namespace syncopate::record {

// count(row): this thread's, of lock and kind, which is counted itself.
template <class Count>
static void count_row(std::uint32_t id, wait_kind kind, Count count) noexcept {
  if (!enabled) return;
  entry inside;
  if (!inside) return;
  thread_state* const t = this_thread();
  if (t == nullptr) return;
  row_slot* const slot = find_row(*t, known_id(id), row_kind(kind));
  if (slot == nullptr) return;
  ++slot->row->waits;
  count(*slot->row);
}

template <class Count>
static void count_in_row(std::uint32_t id, wait_kind kind, Count count) noexcept {
  count_row(id, kind, [&count](wait_row& row) { count(row.histogram); });
}

void left_last(std::uint32_t id, std::uint64_t waited) noexcept {
  count_row(id, wait_kind::came_last, [waited](wait_row& row) { row.wait_sum += waited; });
}

static void add_time(std::uint32_t id, wait_kind kind, std::uint64_t ticks) noexcept {
  count_row(id, kind, [ticks](wait_row& row) {
    row.wait_sum += ticks;
    if (ticks > row.wait_max) row.wait_max = ticks;
  });
}

std::uint64_t waited_so_far() noexcept {
  const thread_state* const t = enabled ? local.state : nullptr;
  return t != nullptr ? t->waited : 0;
}

void was_at_work(std::uint32_t id, std::uint64_t ticks) noexcept {
  add_time(id, wait_kind::at_work, ticks);
}

void had_more_work(std::uint32_t id, std::uint64_t ticks) noexcept {
  if (ticks != 0) add_time(id, wait_kind::more_work, ticks);
}

void elided(std::uint32_t id, const elision_counts& of) noexcept {
  count_in_row(id, wait_kind::elision, [&of](auto& histogram) {
    histogram[committed] += of.committed;
    histogram[fell_back] += of.fell_back;
    histogram[conflicts] += of.conflict;
    histogram[capacities] += of.capacity;
    histogram[lock_helds] += of.lock_held;
    histogram[explicits] += of.explicit_;
    histogram[others] += of.other;
  });
}

void count_run(speculation_counts& of, const machine::htm::status& how) noexcept {
  using machine::htm::cause;
  ++of.runs;
  of.lines += machine::htm::lines_touched();
  switch (how.why) {
    case cause::explicit_: ++of.whole; break;
    case cause::conflict: ++of.conflict; break;
    case cause::capacity: ++of.capacity; break;
    default: ++of.other;
  }
}

void speculated(std::uint32_t id, const speculation_counts& of) noexcept {
  count_in_row(id, wait_kind::speculation, [&of](auto& histogram) {
    histogram[runs_ahead] += of.runs;
    histogram[whole_sections] += of.whole;
    histogram[runs_conflict] += of.conflict;
    histogram[runs_capacity] += of.capacity;
    histogram[runs_other] += of.other;
    histogram[runs_left_out] += of.left_out;
    histogram[lines_touched] += of.lines;
    histogram[trials] += of.trials;
    histogram[gains] += of.gain;
  });
}

}  // namespace syncopate::record
