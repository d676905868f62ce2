// mappings.h -- memory that the program maps by itself: at the same addresses in every run, and
// in every execution of a machine that runs the program several times.
#pragma once

namespace syncopate::instrument {

// Unmaps what the program has mapped since the last call.
void forget_mappings();

}  // namespace syncopate::instrument
