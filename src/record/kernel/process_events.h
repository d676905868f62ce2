// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// process_events.h -- what waits.bpf.c tells of threads and processes that begin, end, or run
// another program.
//
// Memory order (each tag stands at its site below)
//   [N]  relaxed, since the result is not used: a count, read at the end.
#pragma once

#include "kernel_events.h"
#include "kernel_maps.h"
#include "kernel_types.h"

static __always_inline void fill_head(struct event_head* head, u32 type, struct task_struct* task) {
  head->type = type;
  head->process = task->tgid;
  head->thread = task->pid;
  head->weight = 1;
  head->time = bpf_ktime_get_ns();
}

// What needs no more words than its type, and who does it.
static __always_inline int tell(u32 type, u64 how, struct task_struct* task) {
  struct event_head* e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
  if (!e) {
    __sync_fetch_and_add(&controls.lost_others, 1);  // [N]
    return 0;
  }
  fill_head(e, type, task);
  bpf_ringbuf_submit(e, how);
  return 0;
}

// Of a thread that ends, or runs another program now.
static __always_inline void fill_exit(struct exit_event* e, u32 type, struct task_struct* task,
                                      const struct waiting_thread* w, bool last) {
  fill_head(&e->head, type, task);
  e->cpu_ns = task->se.sum_exec_runtime;
  e->delay_ns = 0;
  if (bpf_core_field_exists(task->sched_info.run_delay)) e->delay_ns = task->sched_info.run_delay;
  e->exit_code = task->exit_code;
  e->last = last;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  const u64 call = regs->orig_ax == call_restart && w ? w->last_call : regs->orig_ax;
  e->in_a_wait = call == call_futex || call == call_futex_wait;
  e->has_blocked = w != 0;
  bpf_probe_read_kernel(e->name, sizeof e->name, task->comm);
}

static __always_inline void tell_exit(struct task_struct* task, const struct waiting_thread* w,
                                      bool last) {
  struct exit_event* e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
  if (!e) {
    __sync_fetch_and_add(&controls.lost_others, 1);  // [N]
    return;
  }
  fill_exit(e, event_exit, task, w, last);
  bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
}

// With what the program is called: the process may have ended before anybody looks at it.
static __always_inline void tell_exec(struct task_struct* task, const struct waiting_thread* w,
                                      struct linux_binprm* of) {
  struct exec_event* e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
  if (!e) {
    __sync_fetch_and_add(&controls.lost_others, 1);  // [N]
    return;
  }
  fill_exit(&e->before, event_exec, task, w, false);
  e->unused = 0;
  e->executable[0] = 0;
  bpf_probe_read_kernel_str(e->executable, sizeof e->executable, of->filename);
  const u64 from = task->mm ? task->mm->arg_start : 0;
  u64 bytes = task->mm ? task->mm->arg_end - from : 0;
  if (bytes > sizeof e->command) bytes = sizeof e->command;
  e->command_bytes = bpf_probe_read_user(e->command, bytes, (void*)from) == 0 ? bytes : 0;
  bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
}
