// gomp_regions.cpp -- where libgomp starts teams. The runtime starts them as ever; it only runs
// our function, which runs the program's with a frame around it.

#include "openmp/base/export.h"
#include "openmp/config.h"
#include "openmp/runtime/caller.h"
#include "openmp/teams/kept_region.h"
#include "openmp/teams/team.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {

work work_of(gomp_function function, void* data) {
  return {reinterpret_cast<void (*)()>(function), data, 0};
}

void run(void* started) {
  static_cast<region_order*>(started)->run(
      [](const work& what) { reinterpret_cast<gomp_function>(what.function)(what.data); });
}

// The runtime of a call that starts a team in a way of its own.
const entry_points& real_of(const binding& b) {
  end_kept(b.to);
  return b.to->real;
}

// A loop that is a region of its own. In a team that is kept each thread begins it as any other
// loop: the first one there prepares it, and none takes a part of it yet (no place to put it).
struct loop_region {
  gomp_function function;
  void* data;
  long first, last, step, schedule, chunk;
  const entry_points& real;
};
enum : long { as_set = 0, in_turn = 1, dynamic = 2, guided = 3 };  // as libgomp numbers schedules

void run_loop(void* started) {
  const auto& loop = *static_cast<const loop_region*>(started);
  (void)loop.real.GOMP_loop_start(loop.first, loop.last, loop.step, loop.schedule, loop.chunk,
                                  nullptr, nullptr, nullptr, nullptr);
  current->runs = work_of(loop.function, loop.data).function;
  loop.function(loop.data);
}

// False: the runtime has to start it, and no team is kept any more.
bool run_kept_loop(const binding& b, unsigned threads, unsigned flags, loop_region loop) {
  if (b.ours && threads != 1 && config.keep && loop.real.GOMP_loop_start != nullptr)
    return run_kept(*b.to, threads, flags, work_of(run_loop, &loop),
                    reinterpret_cast<const void*>(loop.function));
  end_kept(b.to);
  return false;
}

}  // namespace

// An entry point whose arguments after (function, data, threads) are passed on as they are. Each
// kind of loop has to keep its own: the runtime prepares the loop in it. `kept` runs the region by
// a team that stays, if there is one.
#define SYNCOPATE_REGION(name, parameters, arguments, kept)                                  \
  SYNCOPATE_OPENMP_EXPORT void name(gomp_function function, void* data, unsigned threads,    \
                                    SYNCOPATE_STRIP parameters) {                            \
    const binding& b = SYNCOPATE_CALLER_WITH(gomp, function);                                \
    if (kept) return;                                                                        \
    if (!b.ours) return b.to->real.name(function, data, threads, SYNCOPATE_STRIP arguments); \
    if (threads == 1) {                                                                      \
      const lone_frame until_it_ends(*b.to);                                                 \
      return b.to->real.name(function, data, threads, SYNCOPATE_STRIP arguments);            \
    }                                                                                        \
    region r(*b.to, threads, work_of(function, data), __builtin_return_address(0));          \
    b.to->real.name(run, r.order(), threads, SYNCOPATE_STRIP arguments);                     \
  }
#define SYNCOPATE_STRIP(...) __VA_ARGS__

SYNCOPATE_OPENMP_EXPORT void GOMP_parallel(gomp_function function, void* data, unsigned threads,
                                           unsigned flags) {
  const binding& b = SYNCOPATE_CALLER_WITH(gomp, function);
  if (!b.ours) return b.to->real.GOMP_parallel(function, data, threads, flags);
  if (threads == 1) {
    const lone_frame until_it_ends(*b.to);
    return b.to->real.GOMP_parallel(function, data, threads, flags);
  }
  const work what = work_of(function, data);
  if (config.keep && run_kept(*b.to, threads, flags, what, reinterpret_cast<const void*>(function)))
    return;
  region r(*b.to, threads, what, __builtin_return_address(0));
  b.to->real.GOMP_parallel(run, r.order(), threads, flags);
}

// Its first part can only be begun by who takes it.
SYNCOPATE_REGION(GOMP_parallel_sections, (unsigned count, unsigned flags), (count, flags),
                 (end_kept(b.to), false))

#define SYNCOPATE_LOOP_REGION(name, schedule)                               \
  SYNCOPATE_REGION(                                                         \
      name, (long first, long last, long step, long chunk, unsigned flags), \
      (first, last, step, chunk, flags),                                    \
      run_kept_loop(b, threads, flags,                                      \
                    {function, data, first, last, step, schedule, chunk, b.to->real}))
SYNCOPATE_LOOP_REGION(GOMP_parallel_loop_static, in_turn)
SYNCOPATE_LOOP_REGION(GOMP_parallel_loop_dynamic, dynamic)
SYNCOPATE_LOOP_REGION(GOMP_parallel_loop_guided, guided)
SYNCOPATE_LOOP_REGION(GOMP_parallel_loop_nonmonotonic_dynamic, dynamic)
SYNCOPATE_LOOP_REGION(GOMP_parallel_loop_nonmonotonic_guided, guided)

#define SYNCOPATE_RUNTIME_LOOP_REGION(name)                                  \
  SYNCOPATE_REGION(name, (long first, long last, long step, unsigned flags), \
                   (first, last, step, flags),                               \
                   run_kept_loop(b, threads, flags,                          \
                                 {function, data, first, last, step, as_set, 0, b.to->real}))
SYNCOPATE_RUNTIME_LOOP_REGION(GOMP_parallel_loop_runtime)
SYNCOPATE_RUNTIME_LOOP_REGION(GOMP_parallel_loop_nonmonotonic_runtime)
SYNCOPATE_RUNTIME_LOOP_REGION(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

// The runtime reads what `data` points at, so it has to stay the program's: the team is not ours.
SYNCOPATE_OPENMP_EXPORT unsigned GOMP_parallel_reductions(gomp_function function, void* data,
                                                          unsigned threads, unsigned flags) {
  const binding& b = SYNCOPATE_CALLER_WITH(gomp, function);
  const entry_points& real = real_of(b);
  const hidden_frames until_it_ends;
  return real.GOMP_parallel_reductions(function, data, threads, flags);
}

// Before GCC 4.9: a region begins by one call and ends by another. Its barriers are the runtime's.
SYNCOPATE_OPENMP_EXPORT void GOMP_parallel_start(gomp_function function, void* data,
                                                 unsigned threads) {
  real_of(SYNCOPATE_CALLER_WITH(gomp, function)).GOMP_parallel_start(function, data, threads);
}

SYNCOPATE_OPENMP_EXPORT void GOMP_parallel_sections_start(gomp_function function, void* data,
                                                          unsigned threads, unsigned count) {
  real_of(SYNCOPATE_CALLER_WITH(gomp, function))
      .GOMP_parallel_sections_start(function, data, threads, count);
}

#define SYNCOPATE_OLD_LOOP_REGION(name)                                                   \
  SYNCOPATE_OPENMP_EXPORT void name(gomp_function function, void* data, unsigned threads, \
                                    long first, long last, long step, long chunk) {       \
    real_of(SYNCOPATE_CALLER_WITH(gomp, function))                                        \
        .name(function, data, threads, first, last, step, chunk);                         \
  }
SYNCOPATE_OLD_LOOP_REGION(GOMP_parallel_loop_static_start)
SYNCOPATE_OLD_LOOP_REGION(GOMP_parallel_loop_dynamic_start)
SYNCOPATE_OLD_LOOP_REGION(GOMP_parallel_loop_guided_start)

SYNCOPATE_OPENMP_EXPORT void GOMP_parallel_loop_runtime_start(gomp_function function, void* data,
                                                              unsigned threads, long first,
                                                              long last, long step) {
  real_of(SYNCOPATE_CALLER_WITH(gomp, function))
      .GOMP_parallel_loop_runtime_start(function, data, threads, first, last, step);
}

// Gives the threads back.
#define SYNCOPATE_PAUSE(name, parameters, arguments) \
  SYNCOPATE_OPENMP_EXPORT int name parameters {      \
    const binding& b = SYNCOPATE_CALLER(omp);        \
    end_kept(b.to);                                  \
    return b.to->real.name arguments;                \
  }
SYNCOPATE_PAUSE(omp_pause_resource, (int kind, int device), (kind, device))
SYNCOPATE_PAUSE(omp_pause_resource_all, (int kind), (kind))
SYNCOPATE_PAUSE(omp_pause_resource_, (const int* kind, const int* device), (kind, device))
SYNCOPATE_PAUSE(omp_pause_resource_all_, (const int* kind), (kind))
