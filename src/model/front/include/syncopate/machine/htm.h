// htm.h -- transactions of code that is compiled for a modeled machine: the machine's own, in
// the place of the public machine/htm.h, which is the native machine's.
#pragma once

#include <syncopate/machine/instrumented.h>
