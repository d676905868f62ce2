// events.h -- what happens to a transaction at a certain access: the time limit, injected and
// spurious aborts, forced yields.
#pragma once

#include "model/emulated/threads/thread.h"

namespace syncopate::emulated {

// At begin: decides at which access something is due.
void arm(thread&) noexcept;

// Accesses of the transaction so far.
std::uint64_t accesses(const thread&) noexcept;

// goes_on() said no: lets the due thing happen, or the doomed transaction end.
void happen(thread&, place where) noexcept;

}  // namespace syncopate::emulated
