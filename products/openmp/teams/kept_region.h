// kept_region.h -- regions of libgomp's that stay open from one to the next. Opt-in.
//
// libgomp starts and ends each region by a barrier of its own, 0.7 microseconds for two threads,
// and each thread has to be scheduled twice where they outnumber processors. Here the team of a
// region stays, once several alike came one after the other: its other threads remain in a function
// of ours and wait there for the next region's work (fork_join.h), the master goes on after the
// region as if libgomp had ended it.
//
// That takes two things. libgomp's old entry points start and end a region by separate calls
// (GOMP_parallel_start, GOMP_parallel_end). And whether a thread is in a region, libgomp knows by
// its thread-local storage alone: we exchange the master's, as a whole and without knowing what is
// in it, for what it was before the start, and back. Neither changes code.
//
// Whether a region may be run by the team that was kept is decided by comparing what libgomp would
// start it from: the master's thread-local storage, bit by bit, its settings (settings_of) and the
// threads asked for. Anything else first ends it, and then libgomp starts what was asked for. Two
// checks of ours, on each start and end, refuse a libgomp that works in another way.
//
// Invariants
//   I1  Outside of a region the master's storage of libgomp's is what it would be without us.
//   I2  Before libgomp needs the threads that we keep, end_kept(): at any other start of a team,
//       the end of the thread, omp_pause_resource(). Not before what starts none.
//   I3  All threads of the team arrive once for each region; who has tasks pending then, marked the
//       phase (team.h), and all pass the runtime's barrier.
#pragma once

#include "openmp/teams/team.h"

namespace syncopate::openmp {

// Runs the region by the team that this thread keeps, or begins to keep one; `place` names it in
// the record. False: nothing was done but to end what was kept for other regions; the runtime has
// to start it.
[[nodiscard]] bool run_kept(const runtime& of, unsigned asked, unsigned flags, const work& what,
                            const void* place) noexcept;

// Why regions of that runtime cannot be kept; null: they can, as far as one can tell before the
// first.
const char* cannot_keep(const runtime& of) noexcept;

// To be called before the runtime starts a team of this thread's in any other way, or gives its
// threads back. Inside a region nothing happens.
void end_kept(const runtime* of) noexcept;

// The process has target regions: they run on the host by a thread that libgomp takes for a new
// one, and whose threads it ends.
void never_keep() noexcept;

}  // namespace syncopate::openmp
