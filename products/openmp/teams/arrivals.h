// arrivals.h -- while recording: who arrives last at a team's barriers and at the ends of its
// regions, and how long it was at work before.
//
// Also where barriers are the runtime's. Which of its threads is the last there shows by how many
// have come, so each must come to each barrier: of a region in which one need not, as it may be
// cancelled, or in which a call does not tell whether it is a barrier, nothing is counted from
// there on (stop_counting()). What was counted before all have come to.
#pragma once

#include <cstdint>

#include "openmp/teams/team.h"
#include "record/recorder.h"

namespace syncopate::openmp {

struct arrival {
  std::uint32_t place;     // what the wait is recorded by
  record::wait_kind kind;  // whether the thread is the last
  bool has_tasks;          // asked by the last: the phase that ends here
};

// The thread arrives at a barrier of the team, which it calls at `place`. Requires: f.threads is
// known.
[[nodiscard]] arrival arrive(frame& f, team& t, const void* place) noexcept;

// The thread has done its part of a region that is recorded. The others wait for who is the last,
// which can tell how long they did. Its `left` and `leaving` are cleared by who starts a region.
void count_leaving(const frame& f, team& t, std::uint32_t region, std::uint32_t threads) noexcept;

// By who starts a region: nobody has left it yet, or arrived.
void clear_times(team& t) noexcept;
// The same of a region whose barriers are the runtime's.
void begin_counting(team& t) noexcept;

// Of such a region; others have none of these. The thread's frame, if that is its innermost region,
// at one of its barriers; null: it is not counted.
[[nodiscard]] frame* counted_frame(const runtime& of) noexcept;
void stop_counting(const frame& f) noexcept;
// The phase has tasks: who waits at its end runs these meanwhile.
void note_tasks(const frame& f) noexcept;

}  // namespace syncopate::openmp
