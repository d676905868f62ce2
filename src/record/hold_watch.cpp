// hold_watch.cpp -- what hold_watch.h promises.
//
// Invariants
//   I1  `measured` says yes of each object in holds_.
//   I2  What happened since the mark was last set or taken is in no count yet; what happened before
//       is in those of all holds that were watched then.
#include "record/hold_watch.h"

#include <algorithm>

#include <unistd.h>

#include "record/system.h"
#include "record/threads.h"

namespace syncopate::record {

constinit thread_local measured_holds measured;

namespace {

// In a shorter hold the kernel gives no pages that matter, and asking would cost a part of it.
constexpr std::uint64_t long_enough_us = 2;

std::uint64_t new_page_ticks = 0;  // written before there are other threads to read it

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
  // Only where the time that asking takes is no part of the hold.
  const bool counts_pages = is_watched && since == 0 && short_ones_ < most_short_ones;
  holds_[count_++] = {.object = object,
                      .since = since,
                      .id = id,
                      .weight = weight,
                      .watch = is_watched ? hold_sample::watching : hold_sample::unwatched,
                      .counts_pages = counts_pages,
                      .pages_given = counts_pages ? machine::switches().pages_given : 0};
  tell_fast_paths();
  if (since == 0) holds_[count_ - 1].since = machine::ticks();
}

bool hold_samples::has(const void* object) const noexcept {
  for (std::uint32_t i = 0; i != count_; ++i)
    if (holds_[i].object == object) return true;
  return false;
}

void hold_samples::end_watch(const void* object, std::uint64_t now, bool reads) noexcept {
  for (std::uint32_t i = 0; i != count_; ++i) {
    if (holds_[i].object != object || holds_[i].watch != hold_sample::watching) continue;
    note_pages(holds_[i], now);
    note_switches();
    holds_[i].watch = hold_sample::watched;
    holds_[i].reads = reads;
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

// A thread without long holds stops asking after a few; any long one makes it ask again.
void hold_samples::note_pages(hold_sample& hold, std::uint64_t now) noexcept {
  if (now - hold.since >= long_enough_us * ticks_per_second / 1'000'000) short_ones_ = 0;
  else if (hold.counts_pages) ++short_ones_;
  if (hold.counts_pages) hold.pages_given = machine::switches().pages_given - hold.pages_given;
}

void write_hold_watch(thread_state& t, std::uint32_t lock, const hold_sample& hold,
                      std::uint64_t held) noexcept {
  if (hold.watch != hold_sample::watched) return;
  const row_slot* const slot = find_row(t, lock, static_cast<std::uint32_t>(wait_kind::holder));
  if (slot == nullptr) return;
  wait_row& row = *slot->row;
  ++row.waits;
  row.histogram[preempted_holds] += hold.preemptions != 0 ? 1 : 0;
  row.histogram[preemptions] += hold.preemptions;
  row.histogram[sleeping_holds] += hold.sleeps != 0 ? 1 : 0;
  // A page that others have read meanwhile is not waited for.
  row.histogram[faulting_holds] += hold.pages_read != 0 && hold.sleeps != 0 ? 1 : 0;
  // Who waited is watched besides, and who writes waits more often.
  if (hold.weight != 0) ++row.histogram[hold.reads ? reading_holds : other_holds];
  if (!hold.counts_pages) return;
  ++row.histogram[paged_of_holds];
  row.histogram[paged_holds] += hold.pages_given != 0 ? 1 : 0;
  row.histogram[pages_given] += hold.pages_given;
  row.wait_sum += held;
  row.wait_max = new_page_ticks;
}

// The median, since any may be interrupted.
void measure_new_page() noexcept {
  constexpr std::size_t pages = 16;
  const auto size = static_cast<std::size_t>(::getpagesize());
  auto* const memory = static_cast<volatile char*>(sys::pages(pages * size));
  if (memory == nullptr) return;
  std::uint64_t took[pages];
  for (std::size_t i = 0; i != pages; ++i) {
    const std::uint64_t before = machine::ticks();
    memory[i * size] = 1;
    took[i] = machine::ticks() - before;
  }
  std::nth_element(took, took + pages / 2, took + pages);
  new_page_ticks = took[pages / 2];
  sys::free_pages(const_cast<char*>(memory), pages * size);
}

}  // namespace syncopate::record
