// exit.cpp -- _exit and _Exit, for the recorder only: no destructor of ours runs behind them, so
// the recording ends before. quick_exit() has handlers; what exit() calls is no name that we stand
// in for.
#include <unistd.h>

#include "preload/base/export.h"
#include "preload/base/real.h"
#include "record/recorder.h"

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT void _exit(int status) {
  record::finish();
  real::_exit(status);
  __builtin_unreachable();
}

SYNCOPATE_EXPORT void _Exit(int status) noexcept {
  record::finish();
  real::_Exit(status);
  __builtin_unreachable();
}
