// program.h -- L0: the explored machine of this process.
#pragma once

#include "machine.h"

namespace syncopate::explored {

// Null until run().
inline constinit machine* running_machine = nullptr;

// From the environment, read once.
const options& program_options();

}  // namespace syncopate::explored
