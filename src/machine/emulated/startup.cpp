// startup.cpp -- L0: what has to be there before the program's first access.
#include "instrument/libc_range.h"
#include "instrument/pthread/real.h"
#include "library_calls.h"
#include "observer.h"
#include "options.h"
#include "registry.h"
#include "report.h"
#include "shadow.h"
#include "signals.h"
#include "system_calls.h"
#include "fork.h"

namespace syncopate::emulated {

namespace {

constinit bool started = false;

// After libc_copy.cpp's, before those of the program and of its libraries, which depend on this one.
[[gnu::constructor(102)]] void start_machine() {
  const instrument::engine_scope ours;
  read_options();
  make_shadow();
  instrument::find_libc();
  make_registry();
  prepare_report();
  enter_thread(0);
  take_signals();
  watch_forks();
  redirect_library_calls();
  started = true;
}

}  // namespace

}  // namespace syncopate::emulated

using namespace syncopate;

// Each instrumented module's own constructor calls this: the program's and its libraries', also of
// one that is loaded while the program runs.
SYNCOPATE_EXPORT void __tsan_init() {
  emulated::make_shadow();
  if (emulated::started) emulated::redirect_library_calls();
}
