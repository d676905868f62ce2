// gomp_regions.cpp -- L4: where libgomp starts teams. The runtime starts them as ever; it only runs
// our function, which runs the program's with a frame around it.

#include "openmp/export.h"
#include "openmp/team.h"

using namespace syncopate::openmp;  // NOLINT(google-build-using-namespace): this file is the ABI

namespace {

work work_of(gomp_function function, void* data) {
  return {reinterpret_cast<void (*)()>(function), data, 0};
}

void run(void* started) {
  static_cast<region_order*>(started)->run(
      [](const work& what) { reinterpret_cast<gomp_function>(what.function)(what.data); });
}

// One thread needs no team; then the region's nesting level keeps its barriers from ours.
bool passed_on(const module& m, unsigned threads) { return !m.gomp.ours || threads == 1; }

}  // namespace

// An entry point whose arguments after (function, data, threads) are passed on as they are. Each
// kind of loop has to keep its own: the runtime prepares the loop in it.
#define SYNCOPATE_REGION(name, parameters, arguments)                                     \
  SYNCOPATE_OPENMP_EXPORT void name(gomp_function function, void* data, unsigned threads, \
                                    SYNCOPATE_STRIP parameters) {                         \
    const module& m = SYNCOPATE_CALLER;                                                   \
    if (passed_on(m, threads))                                                            \
      return m.gomp.to->real.name(function, data, threads, SYNCOPATE_STRIP arguments);    \
    region r(*m.gomp.to, threads, work_of(function, data));                               \
    m.gomp.to->real.name(run, r.order(), threads, SYNCOPATE_STRIP arguments);             \
  }
#define SYNCOPATE_STRIP(...) __VA_ARGS__

SYNCOPATE_REGION(GOMP_parallel, (unsigned flags), (flags))
SYNCOPATE_REGION(GOMP_parallel_sections, (unsigned count, unsigned flags), (count, flags))

#define SYNCOPATE_LOOP_REGION(name)                                                      \
  SYNCOPATE_REGION(name, (long first, long last, long step, long chunk, unsigned flags), \
                   (first, last, step, chunk, flags))
SYNCOPATE_LOOP_REGION(GOMP_parallel_loop_static)
SYNCOPATE_LOOP_REGION(GOMP_parallel_loop_dynamic)
SYNCOPATE_LOOP_REGION(GOMP_parallel_loop_guided)
SYNCOPATE_LOOP_REGION(GOMP_parallel_loop_nonmonotonic_dynamic)
SYNCOPATE_LOOP_REGION(GOMP_parallel_loop_nonmonotonic_guided)

#define SYNCOPATE_RUNTIME_LOOP_REGION(name)                                  \
  SYNCOPATE_REGION(name, (long first, long last, long step, unsigned flags), \
                   (first, last, step, flags))
SYNCOPATE_RUNTIME_LOOP_REGION(GOMP_parallel_loop_runtime)
SYNCOPATE_RUNTIME_LOOP_REGION(GOMP_parallel_loop_nonmonotonic_runtime)
SYNCOPATE_RUNTIME_LOOP_REGION(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

// The runtime reads what `data` points at, so it has to stay the program's: the team is not ours.
SYNCOPATE_OPENMP_EXPORT unsigned GOMP_parallel_reductions(gomp_function function, void* data,
                                                          unsigned threads, unsigned flags) {
  const module& m = SYNCOPATE_CALLER;
  const hidden_frames until_it_ends;
  return m.gomp.to->real.GOMP_parallel_reductions(function, data, threads, flags);
}
