// kmpc_tasks.cpp -- tasks of LLVM's libomp, which stay the runtime's: we note that the phase has
// some (team.h), and tell the record of waits for them.

#include "openmp/abi/kmpc.h"
#include "openmp/base/export.h"
#include "openmp/teams/recorded_tasks.h"
#include "openmp/teams/task_waits.h"
#include "openmp/teams/team.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::openmp::kmpc;  // NOLINT(google-build-using-namespace)

namespace {

constexpr binding nobody{};

const entry_points& observed(const binding& b, void* task = nullptr) {
  if (b.ours) mark_phase();
  if (b.ours && task != nullptr && is_recording()) put_shell(task);
  return b.to->real;
}

// A loop of tasks, which the runtime makes, and waits for unless told not to. While recording the
// two are told apart.
template <class Loop>
void task_loop(const binding& b, void* location, std::int32_t thread, void* task,
               std::int32_t no_group, const void* caller, Loop loop) {
  const entry_points& real = observed(b, task);
  if (!is_recording() || no_group != 0) return loop(real, no_group);
  real.__kmpc_taskgroup(location, thread);
  loop(real, 1);
  const task_wait recorded(b, caller);
  real.__kmpc_end_taskgroup(location, thread);
}

}  // namespace

SYNCOPATE_OPENMP_EXPORT std::int32_t __kmpc_omp_task(void* location, std::int32_t thread,
                                                     void* task) {
  return observed(SYNCOPATE_KMPC_CALLER, task).__kmpc_omp_task(location, thread, task);
}

SYNCOPATE_OPENMP_EXPORT std::int32_t __kmpc_omp_task_parts(void* location, std::int32_t thread,
                                                           void* task) {
  return observed(SYNCOPATE_KMPC_CALLER, task).__kmpc_omp_task_parts(location, thread, task);
}

SYNCOPATE_OPENMP_EXPORT std::int32_t __kmpc_omp_task_with_deps(void* location, std::int32_t thread,
                                                               void* task, std::int32_t count,
                                                               void* depend,
                                                               std::int32_t more_count,
                                                               void* more) {
  return observed(SYNCOPATE_KMPC_CALLER, task)
      .__kmpc_omp_task_with_deps(location, thread, task, count, depend, more_count, more);
}

SYNCOPATE_OPENMP_EXPORT void __kmpc_taskloop(void* location, std::int32_t thread, void* task,
                                             std::int32_t condition, std::uint64_t* first,
                                             std::uint64_t* last, std::int64_t step,
                                             std::int32_t no_group, std::int32_t schedule,
                                             std::uint64_t grain, void* duplicate) {
  task_loop(SYNCOPATE_KMPC_CALLER, location, thread, task, no_group, __builtin_return_address(0),
            [=](const entry_points& real, std::int32_t without_group) {
              real.__kmpc_taskloop(location, thread, task, condition, first, last, step,
                                   without_group, schedule, grain, duplicate);
            });
}

SYNCOPATE_OPENMP_EXPORT void __kmpc_taskloop_5(void* location, std::int32_t thread, void* task,
                                               std::int32_t condition, std::uint64_t* first,
                                               std::uint64_t* last, std::int64_t step,
                                               std::int32_t no_group, std::int32_t schedule,
                                               std::uint64_t grain, std::int32_t modifier,
                                               void* duplicate) {
  task_loop(SYNCOPATE_KMPC_CALLER, location, thread, task, no_group, __builtin_return_address(0),
            [=](const entry_points& real, std::int32_t without_group) {
              real.__kmpc_taskloop_5(location, thread, task, condition, first, last, step,
                                     without_group, schedule, grain, modifier, duplicate);
            });
}

SYNCOPATE_OPENMP_EXPORT void __kmpc_omp_taskwait_deps_51(void* location, std::int32_t thread,
                                                         std::int32_t count, void* depend,
                                                         std::int32_t more_count, void* more,
                                                         std::int32_t no_wait) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (!is_recording())
    return observed(b).__kmpc_omp_taskwait_deps_51(location, thread, count, depend, more_count,
                                                   more, no_wait);
  const task_wait recorded(no_wait == 0 ? b : nobody, __builtin_return_address(0));
  observed(b).__kmpc_omp_taskwait_deps_51(location, thread, count, depend, more_count, more,
                                          no_wait);
}

SYNCOPATE_OPENMP_EXPORT std::int32_t __kmpc_omp_taskwait(void* location, std::int32_t thread) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (!is_recording()) return b.to->real.__kmpc_omp_taskwait(location, thread);
  const task_wait recorded(b, __builtin_return_address(0));
  return b.to->real.__kmpc_omp_taskwait(location, thread);
}

SYNCOPATE_OPENMP_EXPORT void __kmpc_end_taskgroup(void* location, std::int32_t thread) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (!is_recording()) return b.to->real.__kmpc_end_taskgroup(location, thread);
  const task_wait recorded(b, __builtin_return_address(0));
  b.to->real.__kmpc_end_taskgroup(location, thread);
}

SYNCOPATE_OPENMP_EXPORT void __kmpc_omp_wait_deps(void* location, std::int32_t thread,
                                                  std::int32_t count, void* depend,
                                                  std::int32_t more_count, void* more) {
  const binding& b = SYNCOPATE_KMPC_CALLER;
  if (!is_recording())
    return b.to->real.__kmpc_omp_wait_deps(location, thread, count, depend, more_count, more);
  const task_wait recorded(b, __builtin_return_address(0));
  b.to->real.__kmpc_omp_wait_deps(location, thread, count, depend, more_count, more);
}
