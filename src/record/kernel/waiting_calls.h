// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// waiting_calls.h -- which system calls wait, for what, and which wake who waits: by their numbers
// and arguments, for waits.bpf.c.
#pragma once

#include "kernel_types.h"

// Whether this operation of a futex waits.
static __always_inline bool waits_in(u32 command) {
  return command == futex_wait || command == futex_wait_bitset || command == futex_lock_pi ||
         command == futex_lock_pi2 || command == futex_wait_requeue_pi;
}

// Whether it waits for what processes share.
static __always_inline bool is_of_processes(u32 call) {
  return call == call_semop || call == call_semtimedop || call == call_msgsnd ||
         call == call_msgrcv || call == call_fcntl || call == call_flock;
}

// What a call that looks at files waits for when it is given none: time, or a signal.
static __always_inline u32 without_files(u32 call, const struct pt_regs* regs) {
  bool is_timed;
  if (call == call_poll && regs->si == 0) is_timed = (int)regs->dx >= 0;
  else if (call == call_ppoll && regs->si == 0) is_timed = regs->dx != 0;
  else if ((call == call_select || call == call_pselect) && regs->di == 0) is_timed = regs->r8 != 0;
  else return call;
  return is_timed ? call_nanosleep : call_pause;
}

// What a thread is woken from: the word of its futex, and what it found there.
struct waited {
  u64 address;
  u32 operation, word;
};

// Whether the current thread wakes those that wait there. Else it is there by chance when a signal,
// or an interrupt as that of a timer, does.
static __always_inline bool wakes(struct task_struct* waker, struct task_struct* woken,
                                  struct pt_regs* regs, struct waited w) {
  const u64 call = regs->orig_ax;
  const bool same_process = waker->tgid == woken->tgid;
  // Who joins it, or wants what it held; before that exit_group() wakes all other threads to end
  // them.
  if (call == call_exit || call == call_exit_group)
    return waker->flags & is_ending && (same_process || (w.word & futex_thread) == waker->pid);
  if ((w.operation & futex_private) && !same_process) return false;
  if (call == call_futex_wake) return regs->di == w.address;
  if (call == call_futex_requeue) return true;
  if (call != call_futex || waits_in(regs->si & futex_command)) return false;
  return regs->di == w.address || regs->r8 == w.address;
}
