// startup.cpp -- from the process's start to the machine, which calls main.
//
//   loader            constructors of libraries, this one's first: turns off address randomization
//   __libc_start_main stands in for the C library's; sets up what static constructors need
//   static constructors of the program, on the thread-control block of main's fiber
//   start_machine     instead of main: engine::run, which calls run_program on main's fiber
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "model/front/engine.h"
#include "model/front/libc/libc_range.h"
#include "model/front/libc/memory_resources.h"
#include "model/front/libc/stream_locks.h"
#include "model/front/program/client.h"
#include "model/front/program/identity.h"
#include "model/front/program/layout.h"
#include "model/front/program/options.h"
#include "model/front/program/program_exit.h"
#include "model/front/program/shared_objects.h"
#include "model/front/pthread/early_threads.h"
#include "model/front/pthread/objects.h"
#include "model/front/pthread/threads.h"
#include "model/front/threads/arch.h"
#include "model/front/threads/fiber_state.h"

namespace syncopate::instrument {
namespace {

using main_function = int(int, char**, char**);

constinit main_function* program_main = nullptr;
constinit int argument_count = 0;
constinit char** arguments = nullptr;

// Runs the program a second time, without address randomization: only uninstrumented libraries and
// the environment still lie elsewhere in each run. Where the system refuses, things stay as they
// are.
constexpr const char* tried = "SYNCOPATE_ADDRESSES_TRIED";
[[gnu::constructor(102)]] void fix_addresses(int, char** argv, char**) {
  if (std::getenv(tried) != nullptr) {
    unsetenv(tried);
    return;
  }
  const int now = personality(0xffffffff);
  const bool started_by_loader = getauxval(AT_BASE) == 0;
  if (now == -1 || (now & ADDR_NO_RANDOMIZE) != 0 || started_by_loader ||
      getauxval(AT_SECURE) != 0) {
    return;
  }
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) == -1) return;
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length > 0 && setenv(tried, "1", 1) == 0) {
    path[length] = '\0';
    execv(path, argv);
    unsetenv(tried);
  }
  personality(static_cast<unsigned long>(now));
}

// Memory for a copy: null where something is there.
char* map_at(std::uintptr_t at, std::size_t bytes) {
  void* const got = mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return got != MAP_FAILED ? static_cast<char*>(got) : nullptr;
}

std::size_t bytes_of(char* const* texts, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += std::strlen(texts[i]) + 1;
  return bytes;
}

// The program's name, whose length depends on the folder, moves nothing else.
void copy_arguments(int count, char** given) {
  argument_count = count;
  arguments = given;
  if (count == 0) return;
  const auto all = static_cast<std::size_t>(count);
  char* const name = map_at(layout::program_name, bytes_of(given, 1));
  char* at = map_at(layout::arguments, (all + 1) * sizeof(char*) + bytes_of(given, all));
  if (name == nullptr || at == nullptr) return;
  arguments = reinterpret_cast<char**>(at);
  arguments[0] = std::strcpy(name, given[0]);
  at += (all + 1) * sizeof(char*);
  for (std::size_t i = 1; i < all; ++i) {
    arguments[i] = at;
    at = stpcpy(at, given[i]) + 1;
  }
}

// The environment and what the kernel tells behind it, in the kernel's order; each variable begins
// a line of a cache. Constructors may have changed the environment: the kernel's own is behind the
// arguments.
void copy_environment(int count, char** given) {
  constexpr std::size_t line = 64;
  std::size_t variables = 0, told = 0;
  while (environ[variables] != nullptr) ++variables;
  char** end = given + count + 1;
  while (*end != nullptr) ++end;
  const auto* more = reinterpret_cast<const ElfW(auxv_t)*>(end + 1);
  while (more[told++].a_type != AT_NULL) {
  }
  const std::size_t before = (variables + 1) * sizeof(char*) + told * sizeof *more;
  char* const at =
      map_at(layout::environment, before + (variables + 1) * line + bytes_of(environ, variables));
  if (at == nullptr) return;
  auto** const copied = reinterpret_cast<char**>(at);
  std::copy_n(more, told, reinterpret_cast<ElfW(auxv_t)*>(copied + variables + 1));
  char* text = at + before;
  for (std::size_t i = 0; i < variables; ++i) {
    text += -reinterpret_cast<std::uintptr_t>(text) % line;
    copied[i] = text;
    text = stpcpy(text, environ[i]) + 1;
  }
  environ = copied;
}

int call_main() {
  return static_cast<int>(syncopate_call_at(
      stack_of(running_fiber()).high - layout::before_main,
      reinterpret_cast<const void*>(program_main), static_cast<std::uintptr_t>(argument_count),
      reinterpret_cast<std::uintptr_t>(arguments), reinterpret_cast<std::uintptr_t>(environ)));
}

int run_program() {
  const program_scope program;
  const int status = run_main_thread(call_main);
  run_exit_handlers();
  objects::process_ends(nullptr);
  return status & 0xff;
}

int start_machine(int count, char** given, char**) {
  load_client();
  refuse_early_threads();
  constructing = false;
  leave_constructors();
  copy_arguments(count, given);
  copy_environment(count, given);
  tell_of_shared_objects();
  find_stream_locks();
  watch_memory_resources();
  const int status = status_with_client(engine::run(run_program));
  // Handlers that are left belong to a program that was stopped; its state may be anything.
  exit_handlers().clear();
  if (ended_by != 0 && !engine::runs_again()) end_process_by(ended_by);
  // What it has written and not flushed is lost, as in a child of fork() it must be.
  if (!flushes_streams && !engine::runs_again()) ::_exit(status);
  return status;
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT int __libc_start_main(main_function* main, int count, char** given, void (*init)(),
                                       void (*fini)(), void (*loader_fini)(), void* stack_end) {
  using start = int(main_function*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  auto* const real = reinterpret_cast<start*>(dlsym(RTLD_NEXT, "__libc_start_main"));
  program_main = main;
  find_libc();
  enter_constructors();
  constructing = true;
  return real(start_machine, count, given, init, fini, loader_fini, stack_end);
}
