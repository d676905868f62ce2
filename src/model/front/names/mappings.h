// mappings.h -- memory that the program maps by itself: at the same addresses in every run, and
// in every execution of a machine that runs the program several times.
#pragma once

#include <cstdint>

namespace syncopate::instrument {

// Unmaps what the program has mapped since the last call.
void forget_mappings();

// Whether other processes may write there: the children of this one, or any that has the file, too.
enum class sharing { none, with_children, with_all };
sharing sharing_of(std::uintptr_t address);
bool has_shared_mappings();

}  // namespace syncopate::instrument
