// gomp_tasks.cpp -- where libgomp's tasks are made. They are its own; we only note that the
// phase has some (team.h).

#include "openmp/caller.h"
#include "openmp/export.h"
#include "openmp/kept_region.h"
#include "openmp/team.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {
const entry_points& observed(const binding& b) {
  if (b.ours) mark_phase();
  return b.to->real;
}
}  // namespace

// A task with a false `if` clause is run at once, unless it waits for an event to be fulfilled.
SYNCOPATE_OPENMP_EXPORT void GOMP_task(gomp_function function, void* data, gomp_copy copy,
                                       long size, long align, bool deferred, unsigned flags,
                                       void** depend, int priority, void* detach) {
  constexpr unsigned has_detach = 1u << 13;
  const binding& b = SYNCOPATE_CALLER_WITH(gomp, function);
  // Programs from before GCC 11 pass no `detach`.
  const bool later = deferred || (flags & has_detach) != 0;
  (later ? observed(b) : b.to->real)
      .GOMP_task(function, data, copy, size, align, deferred, flags, depend, priority, detach);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskloop(gomp_function function, void* data, gomp_copy copy,
                                           long size, long align, unsigned flags,
                                           unsigned long tasks, int priority, long first, long last,
                                           long step) {
  observed(SYNCOPATE_CALLER_WITH(gomp, function))
      .GOMP_taskloop(function, data, copy, size, align, flags, tasks, priority, first, last, step);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskloop_ull(gomp_function function, void* data, gomp_copy copy,
                                               long size, long align, unsigned flags,
                                               unsigned long tasks, int priority,
                                               unsigned long long first, unsigned long long last,
                                               unsigned long long step) {
  observed(SYNCOPATE_CALLER_WITH(gomp, function))
      .GOMP_taskloop_ull(function, data, copy, size, align, flags, tasks, priority, first, last,
                         step);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_taskwait_depend_nowait(void** depend) {
  observed(SYNCOPATE_CALLER(gomp)).GOMP_taskwait_depend_nowait(depend);
}

// A target region that runs on the host runs at nesting level 0.
SYNCOPATE_OPENMP_EXPORT void GOMP_target(int device, gomp_function function, const void* unused,
                                         std::size_t count, void** addresses, std::size_t* sizes,
                                         unsigned char* kinds) {
  const binding& b = SYNCOPATE_CALLER_WITH(gomp, function);
  never_keep();
  const hidden_frames until_it_ends;
  b.to->real.GOMP_target(device, function, unused, count, addresses, sizes, kinds);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_target_ext(int device, gomp_function function, std::size_t count,
                                             void** addresses, std::size_t* sizes,
                                             unsigned short* kinds, unsigned flags, void** depend,
                                             void** arguments) {
  const entry_points& real = observed(SYNCOPATE_CALLER_WITH(gomp, function));
  never_keep();
  const hidden_frames until_it_ends;
  real.GOMP_target_ext(device, function, count, addresses, sizes, kinds, flags, depend, arguments);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_target_update_ext(int device, std::size_t count, void** addresses,
                                                    std::size_t* sizes, unsigned short* kinds,
                                                    unsigned flags, void** depend) {
  observed(SYNCOPATE_CALLER(gomp))
      .GOMP_target_update_ext(device, count, addresses, sizes, kinds, flags, depend);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_target_enter_exit_data(int device, std::size_t count,
                                                         void** addresses, std::size_t* sizes,
                                                         unsigned short* kinds, unsigned flags,
                                                         void** depend) {
  observed(SYNCOPATE_CALLER(gomp))
      .GOMP_target_enter_exit_data(device, count, addresses, sizes, kinds, flags, depend);
}

// What a cancelled loop or sections leaves behind, only the runtime's own barrier resets.
SYNCOPATE_OPENMP_EXPORT bool GOMP_cancel(int what, bool really) {
  enum : int { parallel = 1, loop = 2, sections = 4 };
  const binding& b = SYNCOPATE_CALLER(gomp);
  if (b.ours && really) {
    if ((what & (loop | sections)) != 0) mark_phase();
    if ((what & parallel) != 0) abandon_team();
  }
  return b.to->real.GOMP_cancel(what, really);
}
