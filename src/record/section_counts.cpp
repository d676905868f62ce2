// section_counts.cpp -- what is no wait, but counted by lock and kind: transactions and runs ahead.
#include "record/objects.h"
#include "record/rows.h"

namespace syncopate::record {

// count(histogram): for this thread's row of lock and kind.
template <class Count>
static void count_in_row(std::uint32_t id, wait_kind kind, Count count) noexcept {
  if (!enabled) return;
  entry inside;
  if (!inside) return;
  thread_state* const t = this_thread();
  if (t == nullptr) return;
  row_slot* const slot = find_row(*t, known_id(id), row_kind(kind));
  if (slot == nullptr) return;
  ++slot->row->waits;
  count(slot->row->histogram);
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
