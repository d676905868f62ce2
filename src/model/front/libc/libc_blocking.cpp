// libc_blocking.cpp -- calls that wait for what no thread of the program could bring about while
// they do, since they would stop all of them: what would block ends the program with one line.
// (Waits for signals: libc_signals.cpp.)
#include <cerrno>

#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <unistd.h>

#include "model/front/compiler/critical_sections.h"
#include "model/front/libc/blocking.h"
#include "model/front/libc/libc_range.h"
#include "model/front/program/options.h"
#include "model/front/pthread/threads.h"

namespace syncopate::instrument {
namespace {

bool would_stop_others(const void* where) { return by_program(where) && has_other_threads(); }

}  // namespace

void refuse_to_block(const char* name) {
  const engine_scope inside;
  fail(
      "%s() would block all threads of the program: this machine has one for all"
      " (docs/reference/model-limits.md)",
      name);
}

}  // namespace syncopate::instrument

using namespace syncopate::instrument;

// Tried without blocking; `empty`: the error that says that the call would have.
#define TRY_OR_REFUSE(name, empty, attempt, ...)                                      \
  if (!would_stop_others(SYNCOPATE_CALLER)) return SYNCOPATE_REAL(name)(__VA_ARGS__); \
  const auto result = attempt;                                                        \
  if (result < 0 && errno == (empty)) refuse_to_block(#name);                         \
  return result

SYNCOPATE_EXPORT ssize_t msgrcv(int queue, void* to, std::size_t bytes, long type, int flags) {
  end_transaction("msgrcv", SYNCOPATE_CALLER);
  if ((flags & IPC_NOWAIT) != 0) return SYNCOPATE_REAL(msgrcv)(queue, to, bytes, type, flags);
  TRY_OR_REFUSE(msgrcv, ENOMSG, SYNCOPATE_REAL(msgrcv)(queue, to, bytes, type, flags | IPC_NOWAIT),
                queue, to, bytes, type, flags);
}
SYNCOPATE_EXPORT int flock(int file, int how) noexcept {
  end_transaction("flock", SYNCOPATE_CALLER);
  if ((how & LOCK_NB) != 0) return SYNCOPATE_REAL(flock)(file, how);
  TRY_OR_REFUSE(flock, EWOULDBLOCK, SYNCOPATE_REAL(flock)(file, how | LOCK_NB), file, how);
}
