// mappings.h -- L0: memory that the program maps by itself: at the same addresses in every
// execution, and gone before the next.
#pragma once

namespace syncopate::explored {

// Unmaps what the program has mapped since the last call.
void forget_mappings();

}  // namespace syncopate::explored
