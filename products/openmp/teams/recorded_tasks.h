// recorded_tasks.h -- while recording: functions of the runtime's tasks, each in a shell that tells
// when a thread runs it (task_waits.h). A shell needs nothing of the task but its function's
// address, so that it fits whatever a runtime keeps for a task, or copies.
#pragma once

#include "openmp/base/entry_points.h"

namespace syncopate::openmp {

bool is_recording() noexcept;

// The function to be handed to libgomp in place of the program's: the same where nothing is
// recorded.
gomp_function told(gomp_function function) noexcept;

// Puts the shell into a task of libomp's in place of the program's function.
void put_shell(void* task) noexcept;

}  // namespace syncopate::openmp
