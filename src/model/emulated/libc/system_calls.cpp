//
// Memory order (each tag stands at its site below)
//   [K]  relaxed: an answer of the kernel, which is the same for all.
#include "system_calls.h"

#include <sys/prctl.h>

#include "model/front/program/options.h"

// Of linux/prctl.h, which older systems have without them.
#if !defined(PR_SET_SYSCALL_USER_DISPATCH)
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

namespace syncopate::emulated {

void dispatch_calls(thread& t) noexcept {
  static constinit std::atomic<bool> refused{false};
  if (refused.load(std::memory_order_relaxed)) return;  // [K]
  t.block_calls = 0;
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0L, 0L, &t.block_calls) == 0) {
    t.dispatches_calls = true;
  } else if (!refused.exchange(true, std::memory_order_relaxed) &&
             instrument::option_enabled("VERBOSE")) {  // [K]
    instrument::complain(
        "this kernel does not tell of system calls in transactions (no Syscall"
        " User Dispatch); only library calls end them");
  }
}

void stop_dispatching(thread& t) noexcept {
  if (!t.dispatches_calls) return;
  prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0L, 0L, 0L);
  t.dispatches_calls = false;
}

}  // namespace syncopate::emulated
