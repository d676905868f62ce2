// arrivals.cpp -- see arrivals.h.
//
// Memory order (each tag stands at its site below)
//   [G]  relaxed: between regions, the master's alone.
//   [K]  relaxed: of what a record says, no more.
//   [P]  relaxed: the phase is marked by this thread, or by another: asked by the last to come to
//        its end, behind [Q] of all others.
//   [Q]  acq_rel RMW of the count, behind relaxed ones of sums (own_time.h): who is counted last
//        reads all of these.

#include "openmp/teams/arrivals.h"

#include <syncopate/machine.h>

#include "openmp/teams/barrier_places.h"
#include "openmp/teams/places.h"

namespace syncopate::openmp {
namespace {

constinit barrier_places places;

// Who waits at the end of a phase that has tasks runs them meanwhile, as far as we know.
bool has_tasks(const team& t, std::uint32_t phase) noexcept {
  return t.task_phase.load(std::memory_order_relaxed) == phase;  // [P]
}

}  // namespace

arrival arrive(frame& f, team& t, const void* place) noexcept {
  own_times &times = t.meeting[f.met & 1], &next = t.meeting[++f.met & 1];
  const std::uint64_t now = machine::ticks(), own = f.own.until(now);
  times.add(own, now);
  const std::uint32_t before = t.arrivals.fetch_add(1, std::memory_order_acq_rel);  // [Q]
  const std::uint32_t turn = before / f.threads;
  const bool last = (before + 1) % f.threads == 0;
  place = places.of(place);
  const void* first = nullptr;
  auto& called_at = t.called_at[turn & 1];
  if (!called_at.compare_exchange_strong(first, place, std::memory_order_relaxed) &&  // [K]
      first != place) {
    places.meet(first, place);
    place = first;
  }
  const std::uint32_t id =
      record::identify(record::object_kind::barrier, place_in_program, place, nullptr);
  record::was_at_work(id, own);
  if (!last) return {id, record::wait_kind::barrier, false};
  // All have read those of the barrier before: they are here.
  t.called_at[(turn + 1) & 1].store(nullptr, std::memory_order_relaxed);  // [K]
  const bool tasks = has_tasks(t, f.phase);
  if (!tasks) record::had_more_work(id, times.uneven(own, now, f.threads));
  next.clear();
  return {id, record::wait_kind::came_last, tasks};
}

void count_leaving(const frame& f, team& t, std::uint32_t region, std::uint32_t threads) noexcept {
  if (threads < 2) return;
  const std::uint64_t now = machine::ticks(), own = f.own.until(now);
  record::was_at_work(region, own);
  t.leaving.add(own, now);
  if (t.left.fetch_add(1, std::memory_order_acq_rel) + 1 != threads) return;  // [Q]
  const bool others_wait = !has_tasks(t, f.phase + 1);
  record::left_last(region, others_wait ? t.leaving.waited(now, threads) : 0);
  if (others_wait) record::had_more_work(region, t.leaving.uneven(own, now, threads));
}

void clear_times(team& t) noexcept {
  t.left.store(0, std::memory_order_relaxed);  // [G]
  for (own_times* const each : {&t.leaving, &t.meeting[0], &t.meeting[1]}) each->clear();
}

void begin_counting(team& t) noexcept {
  clear_times(t);
  t.arrivals.store(0, std::memory_order_relaxed);                                 // [G]
  for (auto& each : t.called_at) each.store(nullptr, std::memory_order_relaxed);  // [G]
  t.task_phase.store(0, std::memory_order_relaxed);                               // [G]
  t.abandoned.store(false, std::memory_order_relaxed);                            // [G]
}

frame* counted_frame(const runtime& of) noexcept {
  frame* const f = current;
  if (f == nullptr || f->counted == nullptr || f->of != &of) return nullptr;
  if (f->level != of.real.omp_get_level()) return nullptr;
  if (f->counted->abandoned.load(std::memory_order_relaxed)) return nullptr;  // [K]
  if (f->threads == 0) f->threads = static_cast<std::uint32_t>(of.real.omp_get_num_threads());
  return f;
}

void stop_counting(const frame& f) noexcept {
  if (f.counted != nullptr) f.counted->abandoned.store(true, std::memory_order_relaxed);  // [K]
}

void note_tasks(const frame& f) noexcept {
  if (f.counted != nullptr)
    f.counted->task_phase.store(f.phase + 1, std::memory_order_relaxed);  // [P]
}

}  // namespace syncopate::openmp
