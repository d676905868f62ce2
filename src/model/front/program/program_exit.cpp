#include "model/front/program/program_exit.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "model/front/engine.h"
#include "model/front/libc/libc_range.h"
#include "model/front/program/client.h"
#include "model/front/program/identity.h"
#include "model/front/threads/thread_exit.h"

extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace syncopate::instrument {

std::vector<exit_handler>& exit_handlers() {
  static auto& all = *new std::vector<exit_handler>;
  return all;
}

namespace {

// The latest handler of the library (null: of all), taken out of the list.
bool take_latest(void* library, bool quick, exit_handler& taken) {
  const engine_scope inside;
  auto& all = exit_handlers();
  for (std::size_t i = all.size(); i-- != 0;) {
    if (all[i].quick != quick || (library != nullptr && all[i].library != library)) continue;
    taken = all[i];
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

void run_handlers_of(void* library, bool quick = false) {
  exit_handler next;
  while (take_latest(library, quick, next)) next.function(next.argument);
}

[[noreturn]] void end_program(engine::end how, int status, const char* message,
                              engine::place where) {
  const engine_scope inside;
  flushes_streams = false;
  engine::finish(how, status, message, where);
}

constexpr int aborted = 128 + SIGABRT;

[[noreturn]] void fail_check(const char* what, const char* file, unsigned line,
                             const char* function, engine::place where) {
  static char message[1024];
  {
    const engine_scope inside;
    std::snprintf(message, sizeof message, "%s:%u: %s: Assertion `%s' failed.", file, line,
                  function != nullptr ? function : "?", what);
  }
  end_program(engine::end::failed_check, aborted, message, where);
}

}  // namespace

void run_exit_handlers() {
  run_local_destructors();
  run_handlers_of(nullptr);
}

}  // namespace syncopate::instrument

using namespace syncopate::instrument;
namespace engine = syncopate::engine;

// A function of the C library that does not return, for callers outside the program.
#define REAL_NORETURN(name, ...)     \
  SYNCOPATE_REAL(name)(__VA_ARGS__); \
  __builtin_unreachable()

// atexit() and static destructors come here. The machine's own handlers stay with the C library.
SYNCOPATE_EXPORT int __cxa_atexit(void (*function)(void*), void* argument, void* library) noexcept {
  if (library == &__dso_handle || !asks_machine()) {
    static auto* const real =
        reinterpret_cast<decltype(&__cxa_atexit)>(dlsym(RTLD_NEXT, "__cxa_atexit"));
    return real(function, argument, library);
  }
  const engine_scope inside;
  exit_handlers().push_back({function, argument, library, false});
  return 0;
}

// at_quick_exit() comes here; its handlers take no argument, which does no harm.
SYNCOPATE_EXPORT int __cxa_at_quick_exit(void (*function)(void*), void* library) noexcept {
  if (!asks_machine()) {
    static auto* const real =
        reinterpret_cast<decltype(&__cxa_at_quick_exit)>(dlsym(RTLD_NEXT, "__cxa_at_quick_exit"));
    return real(function, library);
  }
  const engine_scope inside;
  exit_handlers().push_back({function, nullptr, library, true});
  return 0;
}

SYNCOPATE_EXPORT void __cxa_finalize(void* library) {
  if (library != nullptr) run_handlers_of(library);
  static auto* const real =
      reinterpret_cast<decltype(&__cxa_finalize)>(dlsym(RTLD_NEXT, "__cxa_finalize"));
  real(library);
}

SYNCOPATE_EXPORT void exit(int status) noexcept {
  if (!in_program()) {
    REAL_NORETURN(exit, status);
  }
  if (is_client()) end_client(status, SYNCOPATE_CALLER);
  run_exit_handlers();
  const engine_scope inside;
  engine::finish(engine::end::exit, status & 0xff, nullptr, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT void quick_exit(int status) noexcept {
  if (!in_program()) {
    REAL_NORETURN(quick_exit, status);
  }
  if (is_client()) end_client(status, SYNCOPATE_CALLER);
  run_handlers_of(nullptr, true);
  end_program(engine::end::exit, status & 0xff, nullptr, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT void _exit(int status) {
  if (!in_program()) {
    REAL_NORETURN(_exit, status);
  }
  if (is_client()) end_client(status, SYNCOPATE_CALLER);
  end_program(engine::end::exit, status & 0xff, nullptr, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT void _Exit(int status) noexcept {
  if (!in_program()) {
    REAL_NORETURN(_exit, status);
  }
  if (is_client()) end_client(status, SYNCOPATE_CALLER);
  end_program(engine::end::exit, status & 0xff, nullptr, SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT void abort() noexcept {
  if (!in_program()) {
    REAL_NORETURN(abort);
  }
  end_program(engine::end::abort, aborted, "the program called abort()", SYNCOPATE_CALLER);
}

SYNCOPATE_EXPORT void __assert_fail(const char* what, const char* file, unsigned line,
                                    const char* function) noexcept {
  if (!in_program()) {
    REAL_NORETURN(__assert_fail, what, file, line, function);
  }
  fail_check(what, file, line, function, SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT void __assert_perror_fail(int error, const char* file, unsigned line,
                                           const char* function) noexcept {
  if (!in_program()) {
    REAL_NORETURN(__assert_perror_fail, error, file, line, function);
  }
  fail_check(std::strerror(error), file, line, function, SYNCOPATE_CALLER);
}
