// system_calls.h -- system calls in transactions end them. The kernel tells of each one by a
// signal (Syscall User Dispatch, Linux 5.11) while the thread's byte says so.
#pragma once

#include "model/emulated/threads/thread.h"

namespace syncopate::emulated {

// For the calling thread, once. Kernels that refuse are told of once when SYNCOPATE_VERBOSE is set;
// library calls end transactions even so (library_calls.h).
void dispatch_calls(thread&) noexcept;

// Before the calling thread gives up its record: the kernel would look at the byte of the thread
// that has the record next.
void stop_dispatching(thread&) noexcept;

}  // namespace syncopate::emulated
