// gomp_tasks.cpp -- libgomp's task constructs. Where tasks are ours (tasks.h) we do what they ask
// for. Where they are libgomp's we only note that the phase has some (team.h).

#include "openmp/base/export.h"
#include "openmp/runtime/caller.h"
#include "openmp/tasks/task_loop.h"
#include "openmp/tasks/tasks.h"
#include "openmp/teams/kept_region.h"
#include "openmp/teams/recorded_tasks.h"
#include "openmp/teams/task_waits.h"
#include "openmp/teams/team.h"
#include "openmp/teams/turn.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {
const entry_points& observed(const binding& b) {
  if (b.ours) mark_phase();
  return b.to->real;
}

void no_work(void*) {}

constexpr binding nobody{};

// A loop of tasks that the runtime makes, and waits for unless told not to. While recording the two
// are told apart; of one with a reduction they are one call.
template <class Loop>
void task_loop_by_runtime(const binding& b, unsigned flags, const void* caller, Loop loop) {
  constexpr unsigned no_group = 1u << 11, has_reduction = 1u << 12;
  const entry_points& real = observed(b);
  if (!is_recording() || (flags & no_group) != 0) return loop(real, flags);
  const bool one_call = (flags & has_reduction) != 0;
  if (!one_call) {
    real.GOMP_taskgroup_start();
    loop(real, flags | no_group);
  }
  const task_wait recorded(b, caller);
  if (one_call) loop(real, flags);
  else real.GOMP_taskgroup_end();
}
}  // namespace

// A task with a false `if` clause is run at once, unless it waits for an event to be fulfilled.
// Programs from before GCC 11 pass no `detach`.
SYNCOPATE_OPENMP_EXPORT void GOMP_task(gomp_function function, void* data, gomp_copy copy,
                                       long size, long align, bool deferred, unsigned flags,
                                       void** depend, int priority, void* detach) {
  const binding& b = SYNCOPATE_CALLER_WITH(gomp, function);
  const bool waits = !deferred && (flags & task_request::has_depend) != 0;
  const task_wait recorded(waits ? b : nobody, __builtin_return_address(0));
  if (frame* const f = task_frame(b))
    return make_task(
        *f, {function, data, copy, size, align, deferred, flags, depend, priority, detach});
  const bool later = deferred || (flags & task_request::has_detach) != 0;
  (later ? observed(b) : b.to->real)
      .GOMP_task(b.ours ? told(function) : function, data, copy, size, align, deferred, flags,
                 depend, priority, detach);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskloop(gomp_function function, void* data, gomp_copy copy,
                                           long size, long align, unsigned flags,
                                           unsigned long tasks, int priority, long first, long last,
                                           long step) {
  const binding& b = SYNCOPATE_CALLER_WITH(gomp, function);
  if (frame* const f = task_frame(b)) {
    const task_wait recorded(b, __builtin_return_address(0));
    return run_task_loop(
        *f, {function, data, copy, size, align, true, flags, nullptr, priority, nullptr}, tasks,
        iterations_of(first, last, step));
  }
  if (b.ours) function = told(function);
  task_loop_by_runtime(b, flags, __builtin_return_address(0),
                       [=](const entry_points& real, unsigned how) {
                         real.GOMP_taskloop(function, data, copy, size, align, how, tasks, priority,
                                            first, last, step);
                       });
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskloop_ull(gomp_function function, void* data, gomp_copy copy,
                                               long size, long align, unsigned flags,
                                               unsigned long tasks, int priority,
                                               unsigned long long first, unsigned long long last,
                                               unsigned long long step) {
  const binding& b = SYNCOPATE_CALLER_WITH(gomp, function);
  if (frame* const f = task_frame(b)) {
    const task_wait recorded(b, __builtin_return_address(0));
    return run_task_loop(
        *f, {function, data, copy, size, align, true, flags, nullptr, priority, nullptr}, tasks,
        iterations_of(first, last, step, (flags & task_loop_up) != 0));
  }
  if (b.ours) function = told(function);
  task_loop_by_runtime(b, flags, __builtin_return_address(0),
                       [=](const entry_points& real, unsigned how) {
                         real.GOMP_taskloop_ull(function, data, copy, size, align, how, tasks,
                                                priority, first, last, step);
                       });
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskwait() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  const task_wait recorded(b, __builtin_return_address(0));
  if (frame* const f = task_frame(b)) return wait_for_children(*f);
  b.to->real.GOMP_taskwait();
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskwait_depend(void** depend) {
  const binding& b = SYNCOPATE_CALLER(gomp);
  const task_wait recorded(b, __builtin_return_address(0));
  if (frame* const f = task_frame(b)) return wait_for_dependences(*f, depend);
  b.to->real.GOMP_taskwait_depend(depend);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskwait_depend_nowait(void** depend) {
  const binding& b = SYNCOPATE_CALLER(gomp);
  if (frame* const f = task_frame(b))
    return make_task(
        *f, {no_work, nullptr, nullptr, 0, 1, true, task_request::has_depend, depend, 0, nullptr});
  observed(b).GOMP_taskwait_depend_nowait(depend);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskyield() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  if (frame* const f = task_frame(b)) return run_one(*f);
  b.to->real.GOMP_taskyield();
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskgroup_start() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  if (frame* const f = task_frame(b)) return begin_group(*f);
  b.to->real.GOMP_taskgroup_start();
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskgroup_end() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  const task_wait recorded(b, __builtin_return_address(0));
  if (frame* const f = task_frame(b)) return end_group(*f);
  b.to->real.GOMP_taskgroup_end();
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskgroup_reduction_register(std::uintptr_t* data) {
  const binding& b = SYNCOPATE_CALLER(gomp);
  if (frame* const f = task_frame(b)) reduce_in_group(*f);
  b.to->real.GOMP_taskgroup_reduction_register(data);
}

// Its barrier is inside the runtime: the phase's tasks are done before.
SYNCOPATE_OPENMP_EXPORT void GOMP_workshare_task_reduction_unregister(bool cancelled) {
  const binding& b = SYNCOPATE_CALLER(gomp);
  if (frame* const f = task_frame(b)) {
    reduce_in_construct(*f, false);
    if (pass_barrier(*f, __builtin_return_address(0))) end_phase_with_tasks(*f);
    stop_running_ahead();
  }
  b.to->real.GOMP_workshare_task_reduction_unregister(cancelled);
  if (frame* const f = task_frame(b)) begin_phase(*f);
}

// What begins a construct with task reductions, whose data it then passes. That of regions,
// GOMP_parallel_reductions, leaves the team to the runtime.
#define SYNCOPATE_REDUCING(result, name, parameters, arguments, ...)     \
  SYNCOPATE_OPENMP_EXPORT result name parameters {                       \
    __VA_ARGS__;                                                         \
    const binding& b = SYNCOPATE_CALLER(gomp);                           \
    if (__builtin_expect(reductions != nullptr, 0))                      \
      if (frame* const f = task_frame(b)) reduce_in_construct(*f, true); \
    return b.to->real.name arguments;                                    \
  }
SYNCOPATE_REDUCING(bool, GOMP_loop_start,
                   (long first, long last, long step, long schedule, long chunk, long* from,
                    long* to, std::uintptr_t* reductions, void** memory),
                   (first, last, step, schedule, chunk, from, to, reductions, memory))
SYNCOPATE_REDUCING(bool, GOMP_loop_ordered_start,
                   (long first, long last, long step, long schedule, long chunk, long* from,
                    long* to, std::uintptr_t* reductions, void** memory),
                   (first, last, step, schedule, chunk, from, to, reductions, memory))
SYNCOPATE_REDUCING(bool, GOMP_loop_doacross_start,
                   (unsigned count, long* counts, long schedule, long chunk, long* from, long* to,
                    std::uintptr_t* reductions, void** memory),
                   (count, counts, schedule, chunk, from, to, reductions, memory),
                   note_doacross(count))
using ull = unsigned long long;
SYNCOPATE_REDUCING(bool, GOMP_loop_ull_start,
                   (bool up, ull first, ull last, ull step, long schedule, ull chunk, ull* from,
                    ull* to, std::uintptr_t* reductions, void** memory),
                   (up, first, last, step, schedule, chunk, from, to, reductions, memory))
SYNCOPATE_REDUCING(bool, GOMP_loop_ull_ordered_start,
                   (bool up, ull first, ull last, ull step, long schedule, ull chunk, ull* from,
                    ull* to, std::uintptr_t* reductions, void** memory),
                   (up, first, last, step, schedule, chunk, from, to, reductions, memory))
SYNCOPATE_REDUCING(bool, GOMP_loop_ull_doacross_start,
                   (unsigned count, ull* counts, long schedule, ull chunk, ull* from, ull* to,
                    std::uintptr_t* reductions, void** memory),
                   (count, counts, schedule, chunk, from, to, reductions, memory),
                   note_doacross(count))
SYNCOPATE_REDUCING(unsigned, GOMP_sections2_start,
                   (unsigned count, std::uintptr_t* reductions, void** memory),
                   (count, reductions, memory))
SYNCOPATE_REDUCING(void, GOMP_scope_start, (std::uintptr_t * reductions), (reductions))

SYNCOPATE_OPENMP_EXPORT void omp_fulfill_event(std::uintptr_t event) {
  if (!fulfill(reinterpret_cast<void*>(event)))
    SYNCOPATE_CALLER(omp).to->real.omp_fulfill_event(event);
}

SYNCOPATE_OPENMP_EXPORT void omp_fulfill_event_(std::uintptr_t event) {
  if (!fulfill(reinterpret_cast<void*>(event)))
    SYNCOPATE_CALLER(omp).to->real.omp_fulfill_event_(event);
}

// What a task inherits changes: from now on ours look.
#define SYNCOPATE_SETTING(name, parameters, arguments) \
  SYNCOPATE_OPENMP_EXPORT void name parameters {       \
    settings_change();                                 \
    SYNCOPATE_CALLER(omp).to->real.name arguments;     \
  }
#define SYNCOPATE_SETTINGS(name)                                   \
  SYNCOPATE_SETTING(name, (int value), (value))                    \
  SYNCOPATE_SETTING(name##_, (const std::int32_t* value), (value)) \
  SYNCOPATE_SETTING(name##_8_, (const std::int64_t* value), (value))
SYNCOPATE_SETTINGS(omp_set_num_threads)
SYNCOPATE_SETTINGS(omp_set_dynamic)
SYNCOPATE_SETTINGS(omp_set_nested)
SYNCOPATE_SETTINGS(omp_set_max_active_levels)
SYNCOPATE_SETTINGS(omp_set_default_device)
SYNCOPATE_SETTING(omp_set_schedule, (int kind, int chunk), (kind, chunk))
SYNCOPATE_SETTING(omp_set_schedule_, (const std::int32_t* kind, const std::int32_t* chunk),
                  (kind, chunk))
SYNCOPATE_SETTING(omp_set_schedule_8_, (const std::int32_t* kind, const std::int64_t* chunk),
                  (kind, chunk))

// What a cancelled loop or sections leaves behind, only the runtime's own barrier resets.
SYNCOPATE_OPENMP_EXPORT bool GOMP_cancel(int what, bool really) {
  enum : int { parallel = 1, loop = 2, sections = 4 };
  const binding& b = SYNCOPATE_CALLER(gomp);
  if (b.ours && really && !b.to->tasks) {
    if ((what & (loop | sections)) != 0) mark_phase();
    if ((what & parallel) != 0) abandon_team();
  }
  return b.to->real.GOMP_cancel(what, really);
}
