// tasks.h -- tasks of ours for programs of libgomp's ABI. Opt-in: SYNCOPATE_OMP_TASKS=ours.
//
// A team whose barriers are ours (team.h) has a crew of workers that steal (stealing_crew.h). In
// such a team no task of libgomp's is ever deferred: each of ours runs inside a call of
// GOMP_task(if: false) of libgomp's, which gives it what libgomp knows of a task (its settings,
// omp_in_final(), the owner of nest locks) and takes no lock. Who waits and for whom, we know.
// Everywhere else, outside of regions, in a team of one thread or of another runtime, tasks are
// that runtime's. docs/decisions/0043-openmp-own-tasks.md has the argument, and which barriers
// there are inside libgomp.
//
// Rules
//   R1  A thread that waits inside of a task, for its children, its group or what a task depends
//       on, runs only tasks that descend from that task (OpenMP's constraint on tied tasks); in a
//       barrier it runs any.
//   R2  All tasks of a phase are done when its threads leave the barrier at its end, or the region.
//       Where it ends without a barrier of ours, a thread that knows of tasks leaves only after a
//       moment at which none was unfinished.
//   R3  A wait is always for a task that began later than the waiting one, or that nobody has begun
//       and that somebody who waits or runs will. So waits never form a circle.
//
// Checked by    tests/check/task_wait_scenarios.cpp, tests/openmp.
#pragma once

#include <syncopate/deques/stealing_crew.h>

#include <cstddef>

#include "openmp/tasks/task.h"
#include "openmp/teams/team.h"

namespace syncopate::openmp {

// The caller's frame where its tasks are ours; null: they are the runtime's.
inline frame* task_frame(const binding& b) noexcept {
  return b.ours && b.to->tasks ? live_frame(b.to) : nullptr;
}

// What a compiler asks for by a call of GOMP_task, in libgomp's terms.
struct task_request {
  enum : unsigned {
    is_final = 1u << 1,
    has_depend = 1u << 3,
    has_priority = 1u << 4,
    has_detach = 1u << 13,
  };
  gomp_function function;
  void* data;
  gomp_copy copy;
  long size, align;
  bool deferred;
  unsigned flags;
  void** depend;
  int priority;
  void* detach;
};
void make_task(frame& f, const task_request& request) noexcept;

void wait_for_children(frame& f) noexcept;
void wait_for_dependences(frame& f, void** depend) noexcept;
// Runs a task that the thread may run now, if there is one.
void run_one(frame& f) noexcept;

void begin_group(frame& f) noexcept;
void end_group(frame& f) noexcept;
// Until the group ends, or reset: tasks are run at once, since what they reduce to, libgomp looks
// up by the task that made them.
void reduce_in_group(frame& f) noexcept;
void reduce_in_construct(frame& f, bool reducing) noexcept;

// As many tasks of one request; set_bounds(data, state) is called for each, in order.
void make_task_loop(frame& f, const task_request& request, unsigned long count,
                    void (*set_bounds)(void* data, void* state), void* state) noexcept;

// After the phase's barrier, which its mark has ended early: runs tasks until all threads are here
// and all is done.
void end_phase_with_tasks(frame& f) noexcept;
// At the end of a region without a barrier of ours (R2).
void finish_tasks(frame& f) noexcept;

// True if that was a task of ours that waited for the event, or does.
bool fulfill(void* event) noexcept;

// Whether regions that run this function have made tasks: then they end with a barrier of ours.
[[nodiscard]] bool makes_tasks(void (*function)()) noexcept;
// The team's tasks are for as many threads as its barrier. Between regions.
void employ(team& t) noexcept;
// What a task inherits may have been changed inside of a region.
void settings_change() noexcept;

// Why tasks of that runtime cannot be ours; null: they can.
const char* cannot_make_tasks(const runtime& of) noexcept;

}  // namespace syncopate::openmp
