// library_state.h -- what the C library, the C++ library and the kernel keep of a program from one
// call to the next: the environment, the locale, where random numbers have come to, the handlers of
// signals and of std::terminate, limits, open files (those that were open before: begun_files.h).
// Put back before each further run of the program, with its own memory (program_image.h).
#pragma once

#include <sys/types.h>

#include "model/front/engine.h"

namespace syncopate::instrument {

// Once, in the machine's own context, before the program's first run.
void keep_library_state();
// In the machine's own context, between two runs.
void restore_library_state();

// A call of the program has changed something of this process, or is about to.
void note_locale(engine::place where);  // about to
void note_directory(engine::place where);
void note_creation_mask(mode_t before, engine::place where);
void note_signal_mask(engine::place where);
void note_signal_action(int signal, engine::place where);
int note_opened(int file, engine::place where);  // returns the file
void note_closed(int file);
// What is to be put back of its limits; null: nothing.
class process_limits;
process_limits* limits_before(engine::place where);

}  // namespace syncopate::instrument
