// waits.h -- what tries.cpp and told.cpp need of waits.cpp.
#pragma once

#include "record/threads.h"

namespace syncopate::record {

// From now on the record says that the thread waits.
void tell_open(const thread_state&, const wait&, const waiting_call&) noexcept;

}  // namespace syncopate::record
