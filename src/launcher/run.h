// run.h -- `syncopate run`, where it is no more than setting variables.
#pragma once

#include "launcher/place.h"

namespace syncopate::launcher {

// Becomes the program. Returns, with nothing changed, where that is the Python command's to do.
// `words`: what follows `run`; `variables`: the environment.
void run(const place& at, char** words, char** variables);

}  // namespace syncopate::launcher
