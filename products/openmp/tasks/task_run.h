// task_run.h -- how tasks of ours are found, run and finished (tasks.h says by which rules).
//
// Memory order (each tag stands at its site below)
//   [T]  acq_rel RMW that makes a team's tasks known, acquire load: who finds them finds their
//        fields.
//   [G]  relaxed: under the guard of the shared tasks.
//   [A]  relaxed: of a task that may be gone; what is read decides only whether it is taken, and
//        the deque's RMW whether it was still there (stealing_crew.h).
//   [C]  counts: acq_rel RMW that takes a reference or a child away, acquire load that finds the
//        last one: what the children did happens-before who reuses the block or goes on.
//   [P]  relaxed: the task has a reference on its parent, and its own until it is dropped.
//   [S]  acq_rel RMW that closes the list of successors, and that decreases `unmet`: what all tasks
//        before it did happens-before the successor.
//   [D]  acq_rel RMW of the group's count: as [C], for who waits for the group.
//   [N]  relaxed: whether there is an event is said before the task is offered.
//   [E]  acq_rel RMW: of who fulfills the event and who ends the body, the later one goes on.
#pragma once

#include <atomic>
#include <cstdint>

#include "openmp/tasks/team_tasks.h"
#include "openmp/teams/task_waits.h"
#include "openmp/teams/team.h"
#include "openmp/teams/team_wait.h"

namespace syncopate::openmp {

// Made when first asked for; the rest of the region has it.
team_tasks& make_tasks_of(frame& f) noexcept;
inline team_tasks& tasks_of(frame& f) noexcept {
  team_tasks* const found = f.in->tasks.load(std::memory_order_acquire);  // [T]
  return __builtin_expect(found != nullptr, 1) ? *found : make_tasks_of(f);
}

// What the thread runs; at first its implicit task.
inline task& doing(frame& f) noexcept {
  if (__builtin_expect(f.doing == nullptr, 0)) {
    team_tasks& all = tasks_of(f);
    all.crew.is_on(f.id, machine::node());
    f.doing = all.members[f.id].implicit;
  }
  return *f.doing;
}

// What the thread may run now: inside of a task, what descends from it (R1).
task* find_task(frame& f, bool any) noexcept;

// Where the calling thread puts what it gives back, and what has become ready.
struct place_of_work {
  team& in;
  team_tasks& all;
  frame* f;  // null: a thread that is none of the team's

  void give_back(task* t) const noexcept {
    if (f != nullptr) all.members[f->id].blocks.give_back(t);
    else give_back_to_all(t);
  }
  void offer(task& t) const noexcept {
    if (t.priority > 0 || f == nullptr || !all.crew.push(f->id, &t)) all.shared.put(t);
    wake_sleepers(in);
  }
};

// References may be the last ones: then the block goes, and its reference on its parent. Returns
// the counts before.
std::uint64_t drop(const place_of_work& at, task* t, std::uint64_t what) noexcept;
// The task has no children whose order counts any more.
void clear_order(const place_of_work& at, task& t) noexcept;
// The task has run, and what its event stands for has come.
void finish(const place_of_work& at, task& t) noexcept;

// Runs it as a task of libgomp's that is not deferred; run() finishes it, too, or leaves that to
// its event.
void run_here(frame& f, task& t) noexcept;
void run(frame& f, task& t) noexcept;

// Runs tasks until over() holds; what idle() returns, where there is none to run, as well.
template <class Over, class Idle>
void help_until(frame& f, bool any, Over over, Idle idle) noexcept {
  while (!over()) {
    task* t = find_task(f, any);
    if (t == nullptr) {
      if (idle()) return;
      const idle_time recorded;
      team_waiter waiter(f);
      do {
        waiter.pass_time(f.in->event, [](std::uint32_t) { return false; });
        if (over() || (t = find_task(f, any)) != nullptr) break;
      } while (!idle());
      if (t == nullptr) continue;
    }
    run(f, *t);
  }
}
template <class Over>
inline void help_until(frame& f, Over over) noexcept {
  help_until(f, false, over, [] { return false; });
}

}  // namespace syncopate::openmp
