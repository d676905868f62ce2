// barriers.h -- the barriers of barriers/all.h for teams.
#pragma once

#include <cstdint>

namespace syncopate::openmp {

struct frame;

struct barrier_algorithm {
  const char* name;
  bool own_wait;    // brings its own waiting
  bool runs_ahead;  // who waits runs ahead into the program (run_ahead.h)
  // Makes and ends a barrier for `count` participants in a team's room.
  void (*make)(void* room, std::uint32_t count);
  void (*end)(void* room);
  // Blocks until all have arrived, or the caller's phase is marked (team.h).
  void (*arrive_and_wait)(void* room, frame& f);
  // After a mark: lets sleepers see it.
  void (*call_away)(void* room);
};

// Returns the barrier of that name, or null. How it waits is chosen apart (config.h).
const barrier_algorithm* find_barrier(const char* name, std::uint32_t length) noexcept;

}  // namespace syncopate::openmp
