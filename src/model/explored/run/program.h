// program.h -- the explored machine of this process.
#pragma once

#include "machine.h"

#include <cstdint>

namespace syncopate::explored {

// Null until run().
inline constinit machine* running_machine = nullptr;

// Grows with each call of the engine.
inline constinit std::uint64_t calls_seen = 0;

// From the environment, read once.
const options& program_options();

}  // namespace syncopate::explored
