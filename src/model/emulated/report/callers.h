// callers.h -- who begins a transaction. The library's pthread functions begin them for anyone
// who locks; where the critical section is code that is not instrumented, the machine would neither
// see what it accesses nor undo what it writes.
#pragma once

#include "model/emulated/threads/thread.h"

namespace syncopate::emulated {

// Whether the code that begins a transaction now, or calls the pthread function that does, is
// instrumented. `where`: begin's return address.
bool begins_in_seen_code(thread&, place where) noexcept;

}  // namespace syncopate::emulated
