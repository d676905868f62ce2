#include "model/front/program/program_exit.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/engine.h"
#include "model/front/libc/libc_range.h"
#include "model/front/program/client.h"
#include "model/front/program/identity.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/real.h"
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
  objects::process_ends(where);
  const engine_scope inside;
  flushes_streams = false;
  engine::finish(how, status, message, where);
}

constexpr int aborted = 128 + SIGABRT;

void unblock(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  SYNCOPATE_REAL(pthread_sigmask)(SIG_UNBLOCK, &set, nullptr);
}

bool handles_abort() {
  struct sigaction how {};
  return engine::has_signals() && SYNCOPATE_REAL(sigaction)(SIGABRT, nullptr, &how) == 0 &&
         ((how.sa_flags & SA_SIGINFO) != 0 ||
          (how.sa_handler != SIG_DFL && how.sa_handler != SIG_IGN));
}

// The program's handler of SIGABRT, which may jump back into it, comes first, also where the signal
// is blocked.
[[noreturn]] void abort_with(engine::end how, const char* message, engine::place where) {
  if (handles_abort()) {
    end_transaction("abort", where);
    if (message != nullptr) ::dprintf(STDERR_FILENO, "%s\n", message);
    message = nullptr;
    unblock(SIGABRT);
    SYNCOPATE_REAL(raise)(SIGABRT);
  }
  ended_by = SIGABRT;
  end_program(how, aborted, message, where);
}

[[noreturn]] void fail_check(const char* what, const char* file, unsigned line,
                             const char* function, engine::place where) {
  static char message[1024];
  {
    const engine_scope inside;
    std::snprintf(message, sizeof message, "%s:%u: %s: Assertion `%s' failed.", file, line,
                  function != nullptr ? function : "?", what);
  }
  abort_with(engine::end::failed_check, message, where);
}

}  // namespace

void end_process_by(int number) {
  SYNCOPATE_REAL(signal)(number, SIG_DFL);
  unblock(number);
  SYNCOPATE_REAL(raise)(number);
}

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
  objects::process_ends(SYNCOPATE_CALLER);
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
  abort_with(engine::end::abort, "the program called abort()", SYNCOPATE_CALLER);
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
