// blocking.h -- what would block every thread of the program, as all share one of the system's.
#pragma once

namespace syncopate::instrument {

// Ends the program with one line that names the call.
[[noreturn]] void refuse_to_block(const char* name);

}  // namespace syncopate::instrument
