// task_loop.h -- `taskloop`: how its iterations are divided among tasks, as libgomp's ABI has it.
#pragma once

#include <cstdint>

#include "openmp/tasks/tasks.h"

namespace syncopate::openmp {

constexpr unsigned task_loop_up = 1u << 8;

// A loop's iterations. All arithmetic is modulo 2^64, in which both types of loop agree.
struct iterations {
  std::uint64_t count, first, step;
};
iterations iterations_of(long first, long last, long step) noexcept;
iterations iterations_of(unsigned long long first, unsigned long long last, unsigned long long step,
                         bool up) noexcept;

// Makes the tasks, in a group of their own unless the flags say otherwise. `tasks`: how many, or
// of how many iterations each, by the flags; 0: as many as threads.
void run_task_loop(frame& f, task_request request, unsigned long tasks, iterations all) noexcept;

}  // namespace syncopate::openmp
