// recorded_end.h -- the recorder is told when a thread that it knows ends, whichever way it does:
// libgomp ends the threads of a team with the thread that had started it, for one.
//
// Memory order: the key is written by the library's begin, before there is a thread that the
// recorder comes to know.
#pragma once

namespace syncopate::openmp {

// Once, when recording has begun. Takes one of the process's keys for thread-specific data.
void tell_recorder_of_ends() noexcept;

}  // namespace syncopate::openmp
