// task_waits.cpp -- see task_waits.h.
//
// Memory order
//   [K]  relaxed: set once, and what it leads to may come a little late.

#include "openmp/teams/task_waits.h"

#include <atomic>
#include <utility>

#include "openmp/teams/arrivals.h"
#include "openmp/teams/team.h"
#include "record/file.h"

namespace syncopate::openmp {
namespace {

// Of the thread: where it waits for tasks, and runs none that waits itself; and whose body it runs.
thread_local constinit task_wait* innermost [[gnu::tls_model("initial-exec")]] = nullptr;
using body = void (*)();
thread_local constinit body running [[gnu::tls_model("initial-exec")]] = nullptr;

constinit std::atomic<bool> cannot_tell{false};

const void* place_of_wait(const void* caller) noexcept {
  void (*const region)() = current != nullptr ? current->runs : nullptr;
  return place_of_call(caller, running != nullptr ? running : region);
}

// Of a wait for tasks: where a barrier's place is a return address, one byte before that, which
// lies in the same call; where a place is a function's first byte, one more behind that.
const void* before(const void* place) noexcept { return static_cast<const char*>(place) - 1; }
const void* behind(const void* place) noexcept { return static_cast<const char*>(place) + 1; }
std::uint32_t id_of(place_type type, const void* place) noexcept {
  return record::identify(record::object_kind::barrier, type, place, nullptr);
}
const void* start_of(void (*function)()) noexcept {
  return behind(place_of_call(nullptr, function));
}

}  // namespace

void cannot_tell_task_waits() noexcept {
  if (cannot_tell.exchange(true, std::memory_order_relaxed)) return;  // [K]
  record::set_flag(record::task_waits_untold);
}

std::uint32_t tasks_of_region(const frame& f) noexcept {
  return id_of(tasks_in_program, start_of(f.runs));
}

std::uint32_t end_of_region(const void* place) noexcept {
  return id_of(end_of_region_of_others, static_cast<const char*>(place) + behind_region);
}

void task_wait::begin(const binding& meant, const void* caller, place_type type) noexcept {
  if (__builtin_expect(!record::enabled, 1)) return;
  // A runtime that waits may call itself by names of ours; what tasks call comes from their bodies.
  if (innermost != nullptr) return;
  if (!meant.ours || meant.to->real.omp_get_num_threads() < 2) return;
  const void* const place = place_of_wait(caller);
  if (type == barrier_of_runtime) return begin_barrier(*meant.to, place, caller);
  const bool at_start = place != caller && type == tasks_in_program;
  begin_at(id_of(type, at_start ? behind(place) : place), caller,
           meant.to->tasks && live_frame(meant.to) != nullptr);
}

void task_wait::begin_barrier(const runtime& of, const void* place, const void* caller) noexcept {
  at_barrier_ = counted_frame(of);
  if (at_barrier_ == nullptr) return begin_at(id_of(barrier_of_runtime, place), caller, false);
  ++at_barrier_->phase;
  const arrival here = arrive(*at_barrier_, *at_barrier_->counted, place);
  kind_ = here.kind;
  begin_at(here.place, caller, false);
  // Who is the last waits for tasks, if there are some.
  if (!here.has_tasks) return;
  stop();
  if (place_ != 0) go_on();
}

void task_wait::begin(const frame& f, const void* caller) noexcept {
  if (__builtin_expect(!record::enabled, 1)) return;
  if (f.runs == nullptr) return;
  const bool is_call = caller != nullptr && place_of_call(caller, f.runs) == caller;
  begin_at(id_of(tasks_in_program, is_call ? before(caller) : start_of(f.runs)), caller,
           f.of->tasks);
}

void task_wait::begin_at(std::uint32_t place, const void* caller, bool by_us) noexcept {
  by_us_ = by_us;
  if (is_untold()) return;
  place_ = place;
  caller_ = caller;
  outer_ = innermost;
  innermost = this;
  if (!by_us) go_on();
}

void task_wait::end() noexcept {
  innermost = outer_;
  stop();
  if (at_barrier_ != nullptr) at_barrier_->own.begin();
}

// Meanwhile a task may run that has no shell.
bool task_wait::is_untold() const noexcept {
  return !by_us_ && cannot_tell.load(std::memory_order_relaxed);  // [K]
}

void task_wait::go_on() noexcept {
  if (is_untold()) return;
  waits_ = true;
  wait_ = record::wait_begin(std::exchange(kind_, record::wait_kind::barrier), place_, 0,
                             {.caller = caller_});
}

void task_wait::stop() noexcept {
  if (!waits_) return;
  waits_ = false;
  if (is_untold()) record::wait_refused(wait_);
  else record::wait_end_now(wait_);
}

void task_body::begin(void (*function)()) noexcept {
  if (__builtin_expect(!record::enabled, 1)) return;
  is_told_ = true;
  within_ = innermost;
  outer_ = running;
  innermost = nullptr;
  running = function;
  if (within_ != nullptr) within_->stop();
}

void task_body::end() noexcept {
  innermost = within_;
  running = outer_;
  if (within_ != nullptr && !within_->by_us_) within_->go_on();
}

void idle_time::begin() noexcept {
  if (__builtin_expect(!record::enabled, 1)) return;
  if (innermost == nullptr || !innermost->by_us_) return;
  of_ = innermost;
  of_->go_on();
}

}  // namespace syncopate::openmp
