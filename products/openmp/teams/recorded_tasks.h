// recorded_tasks.h -- while recording: functions of the runtime's tasks, each in a shell that tells
// when a thread runs it (task_waits.h). A shell needs nothing of the task but its function's
// address, so that it fits whatever a runtime keeps for a task, or copies.
#pragma once

#include "openmp/base/entry_points.h"
#include "record/recorder.h"

namespace syncopate::openmp {

// The function to be handed to libgomp in place of the program's.
gomp_function shell_of(gomp_function function) noexcept;

inline gomp_function told(gomp_function function) noexcept {
  return __builtin_expect(record::enabled, 0) ? shell_of(function) : function;
}

// Puts the shell into a task of libomp's in place of the program's function.
void put_shell(void* task) noexcept;

}  // namespace syncopate::openmp
