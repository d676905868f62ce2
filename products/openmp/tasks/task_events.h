// task_events.h -- tasks whose event (OpenMP's clause detach) has not come. Programs have a task's
// address for it, and may give it to any thread.
#pragma once

#include "openmp/tasks/task.h"
#include "openmp/tasks/tasks.h"

namespace syncopate::openmp {

// Tells the program the event.
void expect_event(task& t, const task_request& r) noexcept;
// The task of that event; it is forgotten. Null: it is none of ours.
task* take_detached(void* event) noexcept;

}  // namespace syncopate::openmp
