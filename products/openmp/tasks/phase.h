// phase.h -- the end of a phase that has tasks, behind a barrier of ours (team.h).
#pragma once

#include "openmp/tasks/tasks.h"
#include "openmp/teams/task_waits.h"
#include "openmp/teams/team.h"

namespace syncopate::openmp {

// Returns when all threads of the team are here and the phase's tasks are done. `caller`: the
// barrier's; null: it is the region's end.
inline void end_marked_phase(frame& f, const void* caller) noexcept {
  const task_wait recorded(f, caller);
  if (f.of->tasks) {
    end_phase_with_tasks(f);
  } else {
    f.in_runtime = true;
    f.of->real.GOMP_barrier();
    f.in_runtime = false;
  }
  begin_phase(f);
}

}  // namespace syncopate::openmp
