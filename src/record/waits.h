// waits.h -- what tries.cpp and told.cpp need of waits.cpp.
#pragma once

#include "record/threads.h"

namespace syncopate::record {

// From now on the record says that the thread waits. `frame`: thread_state::waits_at.
void tell_open(thread_state&, const wait&, const waiting_call&, std::uintptr_t frame) noexcept;
// That it does not any more; or in the wait that its signal handler has interrupted.
void tell_closed(thread_state&) noexcept;

}  // namespace syncopate::record
