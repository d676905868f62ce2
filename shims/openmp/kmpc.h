// kmpc.h -- L4: what the files for LLVM's libomp share.
#pragma once

#include <cstdint>

#include "openmp/config.h"
#include "openmp/team.h"

namespace syncopate::openmp::kmpc {

// The frame in which a barrier called from there is ours; null where it is the runtime's.
inline frame* frame_for(const module& caller) noexcept {
  return caller.kmpc.ours && config.barrier != nullptr ? live_frame(caller.kmpc.to) : nullptr;
}

inline void barrier(frame& f, const runtime& r, void* location, std::int32_t thread,
                    const void* caller) noexcept {
  if (!pass_barrier(f, caller)) return;
  f.in_runtime = true;
  r.real.__kmpc_barrier(location, thread);
  f.in_runtime = false;
}

inline bool locks_are_ours(const module& caller) noexcept {
  return caller.kmpc.ours && config.lock != nullptr;
}

}  // namespace syncopate::openmp::kmpc
