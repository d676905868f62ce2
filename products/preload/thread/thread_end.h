// thread_end.h -- being told when the calling thread ends, whichever way it does.
//
// Memory order (each tag stands at its site below)
//   [K]  release store, acquire load: who finds the key may use it.
#pragma once

namespace syncopate::shim {

// By the constructor, when there is something to tell. Takes one of the process's keys for
// thread-specific data (PTHREAD_KEYS_MAX), which the program then lacks.
void prepare_thread_end() noexcept;

// The recorder and the guard are told when this thread ends. Safe before prepare_thread_end: then
// they are not.
void watch_for_thread_end() noexcept;

}  // namespace syncopate::shim
