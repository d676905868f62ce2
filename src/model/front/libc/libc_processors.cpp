// libc_processors.cpp -- the program sees the machine's processors, nodes and thread ids.
#include <cerrno>

#include <pthread.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/compiler/transaction_memory.h"
#include "model/front/libc/call_memory.h"
#include "model/front/libc/libc_range.h"
#include "model/front/program/identity.h"

using namespace syncopate::instrument;
namespace engine = syncopate::engine;

#define UNLESS_PROGRAM(name, ...) \
  if (!by_program(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(name)(__VA_ARGS__)

// Static constructors ask the machine, too.
#define UNLESS_ASKED(name, ...) \
  if (!asks_machine() || from_libc(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(name)(__VA_ARGS__)

static unsigned machine_processors() {
  const engine_scope inside;
  return engine::processors();
}
// pthread/ keeps the masks. Of other threads' ids nothing is known here.
template <class Function, class Mask>
static int own_affinity(Function* by_handle, pid_t pid, std::size_t bytes, Mask* mask) {
  const bool own = pid == 0 || pid == getpid() || pid == thread_id(current_thread());
  const int error = own ? by_handle(pthread_self(), bytes, mask) : ESRCH;
  if (error == 0) return 0;
  errno = error;
  return -1;
}

SYNCOPATE_EXPORT int sched_yield() noexcept {
  UNLESS_PROGRAM(sched_yield);
  section_called("sched_yield", SYNCOPATE_CALLER);
  const engine_scope inside;
  if (in_transaction()) engine::htm_unfriendly(SYNCOPATE_CALLER);
  engine::yield(SYNCOPATE_CALLER);
  return 0;
}
SYNCOPATE_EXPORT int sched_getcpu() noexcept {
  UNLESS_ASKED(sched_getcpu);
  const engine_scope inside;
  return static_cast<int>(engine::processor());
}
SYNCOPATE_EXPORT int getcpu(unsigned* processor, unsigned* node) noexcept {
  const results_of_call told(SYNCOPATE_CALLER, processor, node);
  UNLESS_ASKED(getcpu, processor, node);
  const engine_scope inside;
  if (processor != nullptr) *processor = engine::processor();
  if (node != nullptr) *node = engine::node();
  return 0;
}

SYNCOPATE_EXPORT int sched_setaffinity(pid_t pid, std::size_t bytes,
                                       const cpu_set_t* mask) noexcept {
  UNLESS_PROGRAM(sched_setaffinity, pid, bytes, mask);
  return own_affinity(pthread_setaffinity_np, pid, bytes, mask);
}
SYNCOPATE_EXPORT int sched_getaffinity(pid_t pid, std::size_t bytes, cpu_set_t* mask) noexcept {
  UNLESS_ASKED(sched_getaffinity, pid, bytes, mask);
  return own_affinity(pthread_getaffinity_np, pid, bytes, mask);
}

SYNCOPATE_EXPORT long sysconf(int what) noexcept {
  if ((what == _SC_NPROCESSORS_ONLN || what == _SC_NPROCESSORS_CONF) && asks_machine() &&
      !from_libc(SYNCOPATE_CALLER)) {
    return machine_processors();
  }
  return SYNCOPATE_REAL(sysconf)(what);
}
SYNCOPATE_EXPORT int get_nprocs() noexcept {
  if (asks_machine()) return static_cast<int>(machine_processors());
  return SYNCOPATE_REAL(get_nprocs)();
}
SYNCOPATE_EXPORT int get_nprocs_conf() noexcept {
  if (asks_machine()) return static_cast<int>(machine_processors());
  return SYNCOPATE_REAL(get_nprocs_conf)();
}
SYNCOPATE_EXPORT pid_t gettid() noexcept {
  UNLESS_PROGRAM(gettid);
  return thread_id(current_thread());
}
