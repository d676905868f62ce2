// memory.h -- the heap in transactions. The blocks are the C library's, whose own lists no
// transaction sees: what is allocated is freed when the transaction aborts, what is freed is given
// back when it commits.
#pragma once

#include "model/emulated/threads/thread.h"

namespace syncopate::emulated {

void drop_allocations(thread&) noexcept;  // after a roll-back
void perform_frees(thread&) noexcept;     // after a commit

}  // namespace syncopate::emulated
