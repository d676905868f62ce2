// doomed_reads.cpp -- what is done where a read of the runtime faults (tm/core/doomed.h).
//
// All such reads are in this library's own code, and nothing of it reads what may not be there
// while it is in the middle of a change: values are read, or compared, when nothing is locked. But
// for eager_norec, which compares under its mutex: nobody commits then, and since the values are
// compared in the order in which they were read, what says that memory is gone has been found
// changed before. Writes never come to memory that is not there, unless the program is wrong.
//
// Memory order (each tag stands at its site below)
//   [O]  relaxed: the thread's own.
//   [K]  relaxed: only that the handler is set once.
#include "tm/core/doomed.h"

#include "abi.h"
#include "tm/core/regime.h"

#include <atomic>
#include <csignal>

#include <ucontext.h>

// The library, from its first byte to the end of its code: the linker's names.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[], etext[];

namespace syncopate::tm {
namespace {

constexpr int signals[] = {SIGSEGV, SIGBUS};  // SIGBUS: beyond the end of a file that was cut short
struct sigaction before[2];

[[nodiscard]] bool is_read_by_us(const mcontext_t& at) noexcept {
  constexpr greg_t page_fault = 14, was_write = 2;
  const auto where = static_cast<address>(at.gregs[REG_RIP]);
  return at.gregs[REG_TRAPNO] == page_fault && (at.gregs[REG_ERR] & was_write) == 0 &&
         where - reinterpret_cast<address>(__ehdr_start) <
             static_cast<address>(etext - __ehdr_start);
}

// The kernel has given the handler the modes that a program starts with.
void restore_modes(const mcontext_t& at) noexcept {
  if (at.fpregs == nullptr) return;
  __builtin_ia32_ldmxcsr(at.fpregs->mxcsr);
  asm volatile("fldcw %0" : : "m"(at.fpregs->cwd));
}

void pass_on(int number, siginfo_t* info, void* context) noexcept {
  const struct sigaction& next = before[number == SIGBUS];
  if ((next.sa_flags & SA_SIGINFO) != 0) return next.sa_sigaction(number, info, context);
  if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) return next.sa_handler(number);
  sigaction(number, &next, nullptr);
  if (info->si_code <= 0) std::raise(number);  // somebody has sent it; else it faults again
}

void handle(int number, siginfo_t* info, void* context) noexcept {
  const mcontext_t& at = static_cast<ucontext_t*>(context)->uc_mcontext;
  transaction* const tx = current;
  if (is_read_by_us(at)) {
    const bool waits =
        tx->how == mode::idle && tx->looking.load(std::memory_order_relaxed) != 0;  // [O]
    if (waits || tx->how == mode::optimistic) restore_modes(at);
    if (waits) stop_waiting(tx);
    if (tx->how == mode::optimistic) restart_alone(tx, cause::read_conflict);
  }
  pass_on(number, info, context);
}

}  // namespace

void catch_doomed_reads() noexcept {
  static std::atomic<bool> done{false};
  if (done.exchange(true, std::memory_order_relaxed)) return;  // [K]
  struct sigaction ours {};
  ours.sa_sigaction = handle;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  for (const int number : signals) {
    sigaction(number, nullptr, &before[number == SIGBUS]);
    sigaction(number, &ours, nullptr);
  }
}

}  // namespace syncopate::tm
