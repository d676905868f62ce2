// gomp_target.cpp -- libgomp's target constructs: their region runs on the host at nesting level 0,
// or as a task of the runtime's.

#include "openmp/base/export.h"
#include "openmp/runtime/caller.h"
#include "openmp/tasks/tasks.h"
#include "openmp/teams/kept_region.h"
#include "openmp/teams/team.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {

// Where tasks are ours the runtime must not defer one: then the construct is done at once, after
// what it may depend on. Elsewhere the phase may have a task.
const entry_points& prepared(const binding& b, unsigned& flags, void** depend) {
  constexpr unsigned no_wait = 1;
  if (frame* const f = task_frame(b)) {
    flags &= ~no_wait;
    if (depend != nullptr) wait_for_children(*f);
  } else if (b.ours) {
    mark_phase();
  }
  return b.to->real;
}

}  // namespace

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
  const entry_points& real = prepared(SYNCOPATE_CALLER_WITH(gomp, function), flags, depend);
  never_keep();
  const hidden_frames until_it_ends;
  real.GOMP_target_ext(device, function, count, addresses, sizes, kinds, flags, depend, arguments);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_target_update_ext(int device, std::size_t count, void** addresses,
                                                    std::size_t* sizes, unsigned short* kinds,
                                                    unsigned flags, void** depend) {
  const entry_points& real = prepared(SYNCOPATE_CALLER(gomp), flags, depend);
  real.GOMP_target_update_ext(device, count, addresses, sizes, kinds, flags, depend);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_target_enter_exit_data(int device, std::size_t count,
                                                         void** addresses, std::size_t* sizes,
                                                         unsigned short* kinds, unsigned flags,
                                                         void** depend) {
  const entry_points& real = prepared(SYNCOPATE_CALLER(gomp), flags, depend);
  real.GOMP_target_enter_exit_data(device, count, addresses, sizes, kinds, flags, depend);
}
