// dlclose.cpp -- dlclose, for the recorder only: see record/closing.h.
#include <dlfcn.h>

#include "preload/base/export.h"
#include "preload/base/real.h"
#include "preload/config.h"
#include "record/closing.h"
#include "record/recorder.h"

using namespace syncopate;        // NOLINT(google-build-using-namespace): this file is the ABI
using namespace syncopate::shim;  // NOLINT(google-build-using-namespace)

SYNCOPATE_EXPORT int dlclose(void* handle) noexcept {
  if (__builtin_expect(!record::enabled, 1)) return real::dlclose(handle);
  const record::closing until_it_is_closed;
  return real::dlclose(handle);
}
SYNCOPATE_ALSO_OLDER(dlclose, SYNCOPATE_GLIBC_2_2_5)
