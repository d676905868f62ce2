// program_image.h -- for machines that run the program several times: its memory as static
// constructors left it, to be put back before each further run.
//
// That is: the variables of the executable, and of libraries that are compiled for the machine and
// there from the start, main's thread_local variables and pending destructors, the heap, the
// exit handlers, and what the C and the C++ library and the kernel keep of the process
// (library_state.h). Other libraries' variables and what is in files stay as they are.
#pragma once

namespace syncopate::instrument {

// Once, in the machine's own context, before the program's first run.
void keep_program_image();

// In the machine's own context, with no thread of the program left that will be switched to again.
// Main's next fiber gets its thread_local variables by itself (fiber.h).
void restore_program_image();

}  // namespace syncopate::instrument
