// current.h -- code that is compiled with this folder first in its include path asks the
// runtime it is linked with: the emulated, the simulated or the explored machine.
#pragma once

#include <syncopate/machine/instrumented.h>
