// record.h -- `syncopate record`, from a plain program's start to its end, or to the first look.
#pragma once

#include "launcher/place.h"

namespace syncopate::launcher {

// Starts the program, waits for it, and leaves with its status. Returns, with nothing done, where
// that is the Python command's to do. A program that runs longer than a second, or a record that
// is not plain, is handed over to that command together with the child. `words`: what follows
// `record`; `variables`: the environment.
void record(const place& at, char** words, char** variables);

}  // namespace syncopate::launcher
