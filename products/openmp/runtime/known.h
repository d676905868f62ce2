// known.h -- whether a runtime's version is one that we know.
#pragma once

#include "openmp/runtime/runtime.h"

namespace syncopate::openmp {

// Returns the name of an exported function of the runtime loaded at `base` that could begin teams
// or tasks, or end a phase of a team, and that we have never heard of; null when there is none.
// A runtime with such a function may do what our teams would not notice.
const char* find_unknown_entry(const void* base, family kind) noexcept;

}  // namespace syncopate::openmp
