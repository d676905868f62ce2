// run_ahead.h -- threads that wait at the speculating barrier (barriers/speculating_barrier.h) and
// run ahead into what the program does behind it, in a transaction that ends in an abort.
//
// What such a thread does is undone, so nothing here has to know of it. But it is there for the
// program's data alone: at the next thing that it wants of the runtime, of a lock or of its team
// its run ends, before it takes lines from threads that do the same for real. A run is over, too,
// when the barrier's last thread arrives or a task calls those who wait, and with each system call.
//
// Nobody runs ahead in a team that outnumbers the processors, or beside foreign processes that
// compete for them: whom it waits for needs them.
#pragma once

#include <syncopate/wait/speculate.h>

#include <cstdint>

namespace syncopate::openmp {

// Lets waiters run ahead, by transactions of the processor's, which could commit
// (wait/speculate.h): only where the user has named the barrier. Once, before any thread waits.
void configure_running_ahead() noexcept;

// Ends the run of the calling thread, which is back at its barrier then; returns where it has none.
inline void stop_running_ahead() noexcept { waits::speculation::abandon(); }

// For the record, once a wait at a barrier is over: what the thread has run ahead meanwhile.
void record_runs(std::uint32_t barrier) noexcept;

}  // namespace syncopate::openmp
