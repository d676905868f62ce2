// startup.cpp -- what has to be there before the program's first access.
#include <syncopate/machine/asymmetric_fence.h>

#include <dlfcn.h>

#include "model/emulated/htm/observer.h"
#include "model/emulated/libc/library_calls.h"
#include "model/emulated/memory/shadow.h"
#include "model/emulated/report/report.h"
#include "model/emulated/threads/fork.h"
#include "model/emulated/threads/registry.h"
#include "model/emulated/threads/signals.h"
#include "model/front/libc/libc_range.h"
#include "model/front/pthread/real.h"
#include "options.h"

namespace syncopate::emulated {

namespace {

constinit bool started = false;

using main_function = int(int, char**, char**);
constinit main_function* program_main = nullptr;

// What constructors have called has returned.
int call_main(int count, char** given, char** environment) {
  syncopate_emulated_outermost_call.at = 0;
  return program_main(count, given, environment);
}

// The unwinder sets itself up at the first exception, with locks and system calls.
void throw_once() {
  try {
    throw 0;
  } catch (int) {
  }
}

// After libc_copy.cpp's, before those of the program and of its libraries, which depend on this
// one.
[[gnu::constructor(102)]] void start_machine() {
  const own_memory_scope ours;
  read_options();
  make_shadow();
  machine::prepare_asymmetric_fences();
  instrument::find_libc();
  make_registry();
  prepare_report();
  enter_thread(0);
  take_signals();
  watch_forks();
  throw_once();
  redirect_library_calls();
  started = true;
}

}  // namespace

}  // namespace syncopate::emulated

using namespace syncopate;

SYNCOPATE_EXPORT int __libc_start_main(emulated::main_function* main, int count, char** given,
                                       void (*init)(), void (*fini)(), void (*loader_fini)(),
                                       void* stack_end) {
  using start =
      int(emulated::main_function*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  emulated::program_main = main;
  return reinterpret_cast<start*>(dlsym(RTLD_NEXT, "__libc_start_main"))(
      emulated::call_main, count, given, init, fini, loader_fini, stack_end);
}

// Each instrumented module's own constructor calls this: the program's and its libraries', also of
// one that is loaded while the program runs.
SYNCOPATE_EXPORT void __tsan_init() {
  emulated::make_shadow();
  if (emulated::started) emulated::redirect_library_calls();
}
