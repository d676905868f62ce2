// gomp.cpp -- libgomp's barriers, work-sharing ends, critical sections and atomic fall-backs.
//
// Each entry point first asks which runtime is meant (caller.h); a call that is not for a libgomp
// that we know goes there.

#include <syncopate/machine.h>

#include "openmp/base/export.h"
#include "openmp/config.h"
#include "openmp/locks/program_locks.h"
#include "openmp/locks/runtime_lock.h"
#include "openmp/runtime/caller.h"
#include "openmp/runtime/passed_on.h"
#include "openmp/tasks/phase.h"
#include "openmp/teams/arrivals.h"
#include "openmp/teams/recorded_tasks.h"
#include "openmp/teams/task_waits.h"
#include "openmp/teams/team.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {

// The frame in which a barrier of that call is ours; null where it is the runtime's.
frame* frame_for(const binding& b) {
  return b.ours && config.barrier != nullptr ? live_frame(b.to) : nullptr;
}

void barrier(frame& f, const void* caller) {
  if (pass_barrier(f, caller)) end_marked_phase(f, caller);
}

// The end of a construct that is the runtime's.
template <class End>
auto end_by_runtime(const binding& b, const void* caller, End entry_points::*end) {
  if (b.guessed) return decltype((b.to->real.*end)())();
  const task_wait recorded(b, caller, barrier_of_runtime);
  return (b.to->real.*end)();
}

// The same of one that not all threads of the team may come to, or that does not tell whether it
// waits: who is the last at its barriers is not counted any more (arrivals.h).
void some_may_stay_away(const binding& b) {
  if (!is_recording()) return;
  if (const frame* const f = counted_frame(*b.to)) stop_counting(*f);
}

// What stands for them where they are the runtime's: who is in one releases it.
thread_local constinit char in_unnamed [[gnu::tls_model("initial-exec")]] = 0;
thread_local constinit char in_atomic [[gnu::tls_model("initial-exec")]] = 0;

}  // namespace

// The unnamed critical section, and the lock of atomic operations without an instruction. Their
// names stay where a library's others are stripped: reports know the program's locks by them
// (syncopate/records/languages.py).
extern "C" {
[[gnu::visibility("protected")]] constinit whole_lock syncopate_unnamed_critical{};
[[gnu::visibility("protected")]] constinit whole_lock syncopate_atomic{};
}

SYNCOPATE_OPENMP_EXPORT void GOMP_barrier() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  if (frame* const f = frame_for(b)) return barrier(*f, __builtin_return_address(0));
  const task_wait recorded(b, __builtin_return_address(0), barrier_of_runtime);
  b.to->real.GOMP_barrier();
}

SYNCOPATE_OPENMP_EXPORT void GOMP_loop_end() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  frame* const f = frame_for(b);
  if (f == nullptr)
    return end_by_runtime(b, __builtin_return_address(0), &entry_points::GOMP_loop_end);
  b.to->real.GOMP_loop_end_nowait();
  barrier(*f, __builtin_return_address(0));
}

SYNCOPATE_OPENMP_EXPORT void GOMP_sections_end() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  frame* const f = frame_for(b);
  if (f == nullptr)
    return end_by_runtime(b, __builtin_return_address(0), &entry_points::GOMP_sections_end);
  b.to->real.GOMP_sections_end_nowait();
  barrier(*f, __builtin_return_address(0));
}

// Of regions that may be cancelled. Where tasks are ours nothing is (tasks.h), so they are barriers
// as any; else only the runtime knows.
SYNCOPATE_OPENMP_EXPORT bool GOMP_barrier_cancel() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  frame* const f = task_frame(b);
  if (f == nullptr) {
    some_may_stay_away(b);
    const task_wait recorded(b, __builtin_return_address(0), barrier_of_runtime);
    return b.to->real.GOMP_barrier_cancel();
  }
  barrier(*f, __builtin_return_address(0));
  return false;
}

SYNCOPATE_OPENMP_EXPORT bool GOMP_loop_end_cancel() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  frame* const f = task_frame(b);
  if (f == nullptr) {
    some_may_stay_away(b);
    return end_by_runtime(b, __builtin_return_address(0), &entry_points::GOMP_loop_end_cancel);
  }
  b.to->real.GOMP_loop_end_nowait();
  barrier(*f, __builtin_return_address(0));
  return false;
}

SYNCOPATE_OPENMP_EXPORT bool GOMP_sections_end_cancel() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  frame* const f = task_frame(b);
  if (f == nullptr) {
    some_may_stay_away(b);
    return end_by_runtime(b, __builtin_return_address(0), &entry_points::GOMP_sections_end_cancel);
  }
  b.to->real.GOMP_sections_end_nowait();
  barrier(*f, __builtin_return_address(0));
  return false;
}

// Null for the thread that runs the block; for the others, once it has, what it copies to them.
// Another barrier follows in the program before the next block could overwrite that.
SYNCOPATE_OPENMP_EXPORT void* GOMP_single_copy_start() {
  const binding& b = SYNCOPATE_CALLER(gomp);
  frame* const f = frame_for(b);
  if (f == nullptr) {
    some_may_stay_away(b);
    const task_wait recorded(b, __builtin_return_address(0), barrier_of_runtime);
    return b.to->real.GOMP_single_copy_start();
  }
  if (b.to->real.GOMP_single_start()) return nullptr;
  barrier(*f, __builtin_return_address(0));
  return f->in->copied;
}

SYNCOPATE_OPENMP_EXPORT void GOMP_single_copy_end(void* data) {
  const binding& b = SYNCOPATE_CALLER(gomp);
  frame* const f = frame_for(b);
  if (f == nullptr) {
    const task_wait recorded(b, __builtin_return_address(0), barrier_of_runtime);
    return b.to->real.GOMP_single_copy_end(data);
  }
  f->in->copied = data;
  barrier(*f, __builtin_return_address(0));
}

SYNCOPATE_OPENMP_EXPORT void GOMP_critical_start() {
  if (take_whole(syncopate_unnamed_critical)) return;
  const runtime_lock recorded(&syncopate_unnamed_critical);
  asked_now(&in_unnamed, SYNCOPATE_CALLER(gomp)).GOMP_critical_start();
}

SYNCOPATE_OPENMP_EXPORT void GOMP_critical_end() {
  if (!release_whole(syncopate_unnamed_critical))
    asked_before(&in_unnamed, SYNCOPATE_CALLER(gomp)).GOMP_critical_end();
}

// `name`: 8 zeroed bytes of the program's.
SYNCOPATE_OPENMP_EXPORT void GOMP_critical_name_start(void** name) {
  if (take(name)) return;
  const runtime_lock recorded(name);
  asked_before(name, SYNCOPATE_CALLER(gomp)).GOMP_critical_name_start(name);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_critical_name_end(void** name) {
  if (!release(name)) asked_before(name, SYNCOPATE_CALLER(gomp)).GOMP_critical_name_end(name);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_atomic_start() {
  if (take_whole(syncopate_atomic)) return;
  const runtime_lock recorded(&syncopate_atomic);
  asked_now(&in_atomic, SYNCOPATE_CALLER(gomp)).GOMP_atomic_start();
}

SYNCOPATE_OPENMP_EXPORT void GOMP_atomic_end() {
  if (!release_whole(syncopate_atomic))
    asked_before(&in_atomic, SYNCOPATE_CALLER(gomp)).GOMP_atomic_end();
}
