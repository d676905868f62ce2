// kmpc.h -- what the files for LLVM's libomp share.
#pragma once

#include <cstdint>

#include "openmp/config.h"
#include "openmp/runtime/caller.h"
#include "openmp/teams/recorded_tasks.h"
#include "openmp/teams/task_waits.h"
#include "openmp/teams/team.h"

// Where nothing is recorded, a call that is passed on is the last thing that its function does: a
// jump. So a tool that watches the runtime is told who calls (watcher.h).

// What a call means: `location`, the ident_t of a place in the program, lies in who calls.
#define SYNCOPATE_KMPC_CALLER SYNCOPATE_CALLER_WITH(kmpc, location)

namespace syncopate::openmp::kmpc {

// The frame in which a barrier of that call is ours; null where it is the runtime's.
inline frame* frame_for(const binding& b) noexcept {
  return b.ours && config.barrier != nullptr ? live_frame(b.to) : nullptr;
}

inline void barrier(frame& f, const runtime& r, void* location, std::int32_t thread,
                    const void* caller) noexcept {
  if (!pass_barrier(f, caller)) return;
  const task_wait recorded(f, caller);
  f.in_runtime = true;
  r.real.__kmpc_barrier(location, thread);
  f.in_runtime = false;
  begin_phase(f);
}

}  // namespace syncopate::openmp::kmpc
