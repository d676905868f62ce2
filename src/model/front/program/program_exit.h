// program_exit.h -- how the program ends: its exit handlers are its own code and run on its own
// fiber, with its other threads alive; a static object's destructor may join them.
#pragma once

#include <vector>

namespace syncopate::instrument {

struct exit_handler {
  void (*function)(void*);
  void* argument;
  void* library;  // that registered it; gone when the library is unloaded
  bool quick;     // of at_quick_exit
};

// Runs what exit() runs in the calling thread: its thread_local destructors, then the handlers of
// atexit and static destructors, the latest first. Call as the program.
void run_exit_handlers();

// Not once it has ended by _exit(), abort() or the like: what its streams hold is lost then.
inline constinit bool flushes_streams = true;

// By which signal it has ended, or 0: the process ends by it, too, once the report is written.
inline constinit int ended_by = 0;
// Does so; returns where the signal does not end the process.
void end_process_by(int number);

// For program_image.h.
std::vector<exit_handler>& exit_handlers();

}  // namespace syncopate::instrument
