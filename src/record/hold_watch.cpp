// hold_watch.cpp -- what hold_watch.h promises.
//
// Invariants
//   I1  `measured` says yes of each object in holds_.
//   I2  What happened since the mark was last set or taken is in no count yet; what happened before
//       is in those of all holds that were watched then.
#include "record/hold_watch.h"

#include "record/threads.h"

namespace syncopate::record {

constinit thread_local measured_holds measured;

namespace {

std::uintptr_t address_of(const void* object) noexcept {
  return reinterpret_cast<std::uintptr_t>(object);
}

}  // namespace

// One that never ends (released by another thread) is given up after a second where its room is
// wanted.
void hold_samples::begin(const void* object, std::uint64_t since, std::uint32_t id,
                         std::uint32_t weight, asking how) noexcept {
  const std::uint64_t now = since != 0 ? since : machine::ticks();
  for (std::uint32_t i = count_; i-- != 0;)
    if (holds_[i].object == object) drop(i);
  if (count_ == most && now > holds_[0].since && now - holds_[0].since > ticks_per_second) drop(0);
  if (count_ == most) return tell_fast_paths();
  const bool is_watched =
      machine::switch_mark::is_possible() && (how == asking::always || mark_.stands());
  if (is_watched) note_switches();
  holds_[count_++] = {object, since, id, weight,
                      is_watched ? hold_sample::watching : hold_sample::unwatched};
  tell_fast_paths();
  if (since == 0) holds_[count_ - 1].since = machine::ticks();
}

bool hold_samples::has(const void* object) const noexcept {
  for (std::uint32_t i = 0; i != count_; ++i)
    if (holds_[i].object == object) return true;
  return false;
}

void hold_samples::end_watch(const void* object) noexcept {
  for (std::uint32_t i = 0; i != count_; ++i) {
    if (holds_[i].object != object || holds_[i].watch != hold_sample::watching) continue;
    note_switches();
    holds_[i].watch = hold_sample::watched;
  }
}

hold_sample hold_samples::take(const void* object) noexcept {
  for (std::uint32_t i = count_; i-- != 0;) {
    if (holds_[i].object != object) continue;
    const hold_sample found = holds_[i];
    drop(i);
    tell_fast_paths();
    return found;
  }
  return {};
}

void hold_samples::drop_all() noexcept {
  count_ = 0;
  tell_fast_paths();
}

void hold_samples::drop(std::uint32_t place) noexcept {
  for (--count_; place != count_; ++place) holds_[place] = holds_[place + 1];
}

// I1
void hold_samples::tell_fast_paths() const noexcept {
  std::uintptr_t agreed = ~std::uintptr_t{0};
  const std::uintptr_t first = count_ != 0 ? address_of(holds_[0].object) : 0;
  for (std::uint32_t i = 1; i < count_; ++i) agreed &= ~(first ^ address_of(holds_[i].object));
  measured = {agreed, first & agreed};
}

// I2
void hold_samples::note_switches() noexcept {
  bool is_watching = false;
  for (std::uint32_t i = 0; i != count_; ++i)
    is_watching |= holds_[i].watch == hold_sample::watching;
  if (!is_watching) return mark_.set();
  const machine::switch_counts now = mark_.taken();
  for (std::uint32_t i = 0; i != count_; ++i) {
    if (holds_[i].watch != hold_sample::watching) continue;
    holds_[i].preemptions += now.involuntary;
    holds_[i].sleeps += now.voluntary;
    holds_[i].pages_read += now.pages_read;
  }
}

void write_hold_watch(thread_state& t, std::uint32_t lock, const hold_sample& hold) noexcept {
  if (hold.watch != hold_sample::watched) return;
  const row_slot* const slot = find_row(t, lock, static_cast<std::uint32_t>(wait_kind::holder));
  if (slot == nullptr) return;
  wait_row& row = *slot->row;
  ++row.waits;
  row.histogram[preempted_holds] += hold.preemptions != 0 ? 1 : 0;
  row.histogram[preemptions] += hold.preemptions;
  row.histogram[sleeping_holds] += hold.sleeps != 0 ? 1 : 0;
  row.histogram[faulting_holds] += hold.pages_read != 0 ? 1 : 0;
}

}  // namespace syncopate::record
