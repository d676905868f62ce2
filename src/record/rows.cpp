// rows.cpp -- see rows.h.
//
// Memory order (each tag stands at its site below)
//   [H]  relaxed: the thread has loaded the header with acquire when it entered (recorder.cpp).
#include "record/rows.h"

#include "record/objects.h"

namespace syncopate::record {

namespace {

std::uint16_t take_weight(std::uint32_t& skipped) noexcept {
  const std::uint32_t stood_for = skipped < 65'534 ? skipped : 65'534;
  skipped -= stood_for;
  return static_cast<std::uint16_t>(stood_for + 1);
}

}  // namespace

void skip_event(std::uint32_t& skipped, std::uint32_t weight) noexcept {
  if (skipped == 0) set_flag(sampled);
  skipped += weight;
}

void write_event(thread_state& t, std::uint32_t& skipped, event e) noexcept {
  event* to = next_item<event>(t.event_chunk, chunk_kind::events, t.index);
  if (to == nullptr) {
    skip_event(skipped, 1);
    return;
  }
  e.weight = take_weight(skipped);
  *to = e;
  publish_item(t.event_chunk);
}

void count(wait_row& row, std::uint64_t ticks, std::uint32_t weight) noexcept {
  row.waits += weight;
  row.wait_sum += ticks * weight;
  if (ticks > row.wait_max) row.wait_max = ticks;
  row.histogram[bucket(ticks, 64)] += weight;
}

std::uint64_t on_processor(std::uint64_t cpu_ns, std::uint64_t ticks) noexcept {
  const auto used = static_cast<std::uint64_t>(static_cast<double>(cpu_ns) * 1e-9 *
                                               static_cast<double>(ticks_per_second));
  return used < ticks ? used : ticks;
}

void write_wait(thread_state& t, const wait& w) noexcept {
  const std::uint64_t ticks = w.end > w.start ? w.end - w.start : 0;
  row_slot* slot = find_row(t, w.id, row_kind(w.kind));
  if (slot == nullptr) return;
  count(*slot->row, ticks, 1);
  std::uint32_t& skipped = slot->skipped[ticks >= long_wait()];
  if (w.weight == 0) {
    skip_event(skipped, 1);
    return;
  }
  write_event(t, skipped,
              {.start = w.start,
               .end = w.end,
               .lock = w.id,
               .stack = w.stack,
               .holder = w.holder,
               .weight = 0,
               .kind = static_cast<std::uint8_t>(event_kind::wait),
               .wait = static_cast<std::uint8_t>(w.kind),
               .on_processor = on_processor(w.used.cpu_ns, ticks),
               .sleeps = w.used.sleeps,
               .preemptions = w.used.preemptions});
}

void count_in_vain(thread_state& t, std::uint32_t id) noexcept {
  if (const row_slot* slot = find_row(t, id, row_kind(wait_kind::in_vain))) ++slot->row->waits;
}

void touch_header(std::uint64_t now) noexcept {
  file_header* h = header.load(std::memory_order_relaxed);  // [H]
  const std::uint64_t last = load(h->last_ticks);
  if (now < last || now - last < milliseconds(100)) return;
  store(h->last_ticks, now);
  store(h->last_monotonic_ns, machine::now());
}

}  // namespace syncopate::record
