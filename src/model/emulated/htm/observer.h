// observer.h -- the seam to the statistics. Called only while `observing` is set, in the thread
// that acts, within a runtime_scope.
//
// Memory order (each tag stands at its site below)
//   [Q]  seq_cst load of a status, as wherever it is read (thread.h).
#pragma once

#include "model/emulated/threads/thread.h"

namespace syncopate::emulated {

inline constinit bool observing = false;  // SYNCOPATE_STATS; set before main

void observe_begin(thread&, place where) noexcept;
void observe_refused(thread&, place where) noexcept;  // begin returned without a transaction
void observe_commit(thread&) noexcept;                // its lines are still in t.lines
// t.why, t.where; the lines and their owner words are as the transaction had them.
void observe_abort(thread&) noexcept;
void observe_fell_back(place where) noexcept;
void observe_thread(const void* routine, const void* argument) noexcept;  // at its start; always

}  // namespace syncopate::emulated
