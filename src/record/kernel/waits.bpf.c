// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// (The kernel lets only programs under the GPL read its tasks, so this one file is offered under it
// as well.)
//
// waits.bpf.c -- runs in the kernel: sees threads leave and get their processor, who wakes whom,
// and threads and processes begin and end; and, some times a second, where they run. It changes
// nothing.
//
// A thread that leaves its processor by itself is in a system call, whose number and arguments are
// among its registers. So no system call is traced, and what does not block costs nothing. A wait's
// begin is at sched_switch away from the thread, its end at sched_switch to it; who woke it is who
// runs at sched_waking, when that thread is in a futex call for the same address.
//
// Needs: Linux 5.15 (bpf_task_pt_regs), BTF, x86-64.
//
// Memory order (each tag stands at its site below)
//   [N]  relaxed, since the result is not used: a count, read at the end, or a bit by itself.
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel_events.h"
#include "kernel_maps.h"
#include "kernel_types.h"
#include "process_events.h"
#include "waiting_calls.h"

// Whether another stack may be copied. The limit is on what the recorder's work costs: it is moved
// here, since a recorder that gets no processor is late.
static __always_inline bool is_allowed(u64 now) {
  if (controls.stacks_taken < controls.stacks_allowed) return true;
  if (now - controls.allowed_at >= between_stacks) {
    controls.allowed_at = now;
    controls.stacks_allowed = controls.stacks_taken + stacks_at_once;
    return true;
  }
  __sync_fetch_and_add(&controls.lost_stacks, 1);  // [N]
  return false;
}

// Whether this wait is one whose stack is to be copied, by chance. A thread's own generator: the
// kernel's takes longer than all else here.
static __always_inline bool is_chosen(struct waiting_thread* w, u64 period) {
  w->chance = w->chance * 1664525 + 1013904223;  // Numerical Recipes, 7.1
  return w->chance * period >> 32 == 0;
}

static __always_inline void copy_registers(struct user_registers* to, struct pt_regs* from) {
  to->of[3] = from->bx;
  to->of[6] = from->bp;
  to->of[7] = from->sp;
  to->of[12] = from->r12;
  to->of[13] = from->r13;
  to->of[14] = from->r14;
  to->of[15] = from->r15;
  to->of[16] = from->ip;
}

// The stack of the current thread, for the wait that began at `since`. False: no room.
static __always_inline bool tell_stack(u32 type, u32 weight, u32 process, u32 thread, u32 waiter,
                                       u64 since, struct pt_regs* regs) {
  // Half of the buffer is for what is small, and of which nothing may be lost.
  struct stack_event* e = 0;
  if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < buffer_bytes / 2)
    e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
  if (!e) {
    __sync_fetch_and_add(&controls.lost_stacks, 1);  // [N]
    return false;
  }
  __sync_fetch_and_add(&controls.stacks_taken, 1);  // [N]
  e->head.type = type;
  e->head.process = process;
  e->head.thread = thread;
  e->head.weight = weight;
  e->head.time = bpf_ktime_get_ns();
  e->since = since;
  e->waiter = waiter;
  __builtin_memset(&e->registers, 0, sizeof e->registers);
  copy_registers(&e->registers, regs);
  u32 bytes = 0;
  const u64 from = regs->sp;
#pragma unroll
  for (int i = 0; i < kernel_stack_bytes / copied_at_once; ++i) {
    if (bpf_probe_read_user(e->stack + i * copied_at_once, copied_at_once,
                            (void*)(from + i * copied_at_once)) != 0)
      break;
    bytes += copied_at_once;
  }
  e->bytes = bytes;
  bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
  return true;
}

// What a thread that is blocked waits for, by its registers. `since` is last: who reads the entry
// meanwhile (kernel_side.cpp) looks at it before and after.
static __always_inline void describe(struct waiting_thread* w, struct task_struct* task,
                                     struct pt_regs* regs, u32 state) {
  u64 call = regs->orig_ax;
  if (call == call_restart && w->last_call != 0) call = w->last_call;
  if (call < most_calls) w->last_call = call;
  w->woken = 0;
  w->waker = 0;
  w->flags = 0;
  w->waker_flags = 0;
  w->call = call < most_calls ? without_files(call, regs) : no_call;
  if (task->thread_info.status & is_32_bit || (call & of_x32 && call >> 32 == 0))
    w->call = other_call;
  if (w->call == call_futex && waits_in(regs->si & futex_command)) {
    w->flags = waits_at_futex | (regs->r10 != 0 ? is_timed : 0);
    w->operation = regs->si;
    w->address = regs->di;
  } else if (w->call == call_futex_wait) {
    w->flags = waits_at_futex | (regs->r8 != 0 ? is_timed : 0);
    w->operation = 0;
    w->address = regs->di;
  } else if (w->call == call_futex_waitv) {
    w->flags = waits_at_futex | (regs->r10 != 0 ? is_timed : 0);
    w->operation = 0;
    w->address = 0;
  }
  if (w->flags & waits_at_futex && state & state_uninterruptible) {
    w->flags = 0;  // it waits for the page in which the futex lies
    w->call = no_call;
  }
  if ((w->flags & waits_at_futex) &&
      (regs->orig_ax == call_restart || state & (state_stopped | state_traced)))
    w->flags |= resumed;
  if (w->flags & waits_at_futex) copy_registers(&w->registers, regs);
  else if (state & (state_stopped | state_traced)) w->call = stopped;
}

// The entry of a thread, which stays until the thread ends; 0: there is no room.
static __always_inline struct waiting_thread* entry_of(u32 thread, u32 process) {
  struct waiting_thread* w = bpf_map_lookup_elem(&waiting, &thread);
  if (w) return w;
  const u32 none = 0;
  const struct waiting_thread* empty = bpf_map_lookup_elem(&nothing, &none);
  if (!empty || bpf_map_update_elem(&waiting, &thread, empty, BPF_NOEXIST) != 0) {
    __sync_fetch_and_add(&controls.lost_others, 1);  // [N]
    return 0;
  }
  w = bpf_map_lookup_elem(&waiting, &thread);
  if (!w) return 0;
  w->process = process;
  w->thread = thread;
  w->chance = bpf_get_prandom_u32();
  return w;
}

// Adds to the sum of the thread's calls, of which the entry has the latest and the map the others.
static __always_inline void keep_blocked(const struct waiting_thread* w, u32 thread) {
  const struct blocked_key key = {w->process, thread, w->blocked_in};
  struct blocked_sum* sum = bpf_map_lookup_elem(&blocked, &key);
  if (sum) {  // by this thread alone
    sum->times += w->blocked.times;
    sum->ns += w->blocked.ns;
    if (sum->longest < w->blocked.longest) sum->longest = w->blocked.longest;
  } else if (bpf_map_update_elem(&blocked, &key, &w->blocked, BPF_NOEXIST) != 0) {
    __sync_fetch_and_add(&controls.lost_others, 1);  // [N]
  }
}

static __always_inline void add_blocked(struct waiting_thread* w, u32 thread, u64 ns) {
  if (w->blocked_in != w->call && w->blocked.times != 0) {
    keep_blocked(w, thread);
    w->blocked.times = w->blocked.ns = w->blocked.longest = 0;
  }
  w->blocked_in = w->call;
  ++w->blocked.times;
  w->blocked.ns += ns;
  if (w->blocked.longest < ns) w->blocked.longest = ns;
}

static __always_inline void tell_wait(const struct waiting_thread* w, u32 thread, u64 now) {
  struct wait_event* e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
  if (!e) {
    __sync_fetch_and_add(&controls.lost_waits, 1);            // [N]
    __sync_fetch_and_add(&controls.lost_ns, now - w->since);  // [N]
    return;
  }
  e->head.type = event_wait;
  e->head.process = w->process;
  e->head.thread = thread;
  e->head.weight = w->weight;
  e->head.time = now;
  e->since = w->since;
  e->address = w->address;
  e->woken = w->woken;
  e->operation = w->operation;
  e->word = w->word;
  e->owner = w->owner;
  e->waker = w->waker;
  e->flags = w->flags | w->waker_flags;
  e->call = w->call;
  bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

// The thread has a processor again, at `now`.
static __always_inline void end_wait(struct waiting_thread* w, u32 thread, u64 now) {
  // Nobody was seen to wake it since it left: then who did was there before (on_waking).
  if (!w->woken && w->early) {
    w->woken = w->since;
    w->waker = w->early_waker;
    w->waker_flags = w->early_flags;
  }
  if (w->flags & waits_at_futex) {
    tell_wait(w, thread, now);
    if (w->flags & has_stack && w->waker && !(w->waker_flags & has_waker_stack))
      w->wakers_not_copied += w->weight;
  } else {
    const u64 until = w->woken ? w->woken : now;
    if (until > w->since) add_blocked(w, thread, until - w->since);
  }
  w->early = 0;
  w->begun = 0;
  w->since = 0;
}

static __always_inline void come_back(struct task_struct* task, u64 now) {
  const u32 thread = task->pid;
  struct waiting_thread* w = bpf_map_lookup_elem(&waiting, &thread);
  if (w && w->since != 0) end_wait(w, thread, now);
}

// A thread that runs cannot wait: it came back, and that was not seen, soon after it was woken. So
// it is on kernels that do not tell of each switch, as those for virtual machines may not when it
// is from a thread of their own.
static __always_inline void was_back(struct waiting_thread* w, u32 thread, u64 now) {
  if (w && w->since != 0) end_wait(w, thread, w->woken ? w->woken : now);
}

static __always_inline void goes_on(struct task_struct* task, u64 now) {
  const u32 thread = task->pid;
  was_back(bpf_map_lookup_elem(&waiting, &thread), thread, now);
}

static __always_inline void leave(struct task_struct* task, u32 state, u64 now) {
  if (!(state & (state_interruptible | state_uninterruptible | state_stopped | state_traced)))
    return goes_on(task, now);
  if (task->flags & is_kernels_own) return;
  const u32 thread = task->pid;
  struct waiting_thread* w = entry_of(thread, task->tgid);
  if (!w) return;
  was_back(w, thread, now);
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  w->since = 0;
  barrier();
  describe(w, task, regs, state);
  barrier();
  w->begun = now;  // who wakes it from here on has to wait until it has left its processor
  barrier();
  if (w->flags & waits_at_futex) {
    if (w->call == call_futex_waitv)  // the first of several
      bpf_probe_read_user(&w->address, sizeof w->address, (void*)(regs->di + 8));
    u32 words[3] = {};
    if (bpf_probe_read_user(words, sizeof words, (void*)w->address) != 0)
      bpf_probe_read_user(words, sizeof words[0], (void*)w->address);
    // What the waiter found there: the word of a thread that ends now may be cleared already.
    w->word = w->call == call_futex ? (u32)regs->dx : words[0];
    w->owner = words[2];
    const u32 period = controls.period;
    if (is_chosen(w, period)) {  // the next one stands for those that could not be copied, too
      w->weight = w->not_copied += period;
      if (is_allowed(now) &&
          tell_stack(event_stack, w->weight, w->process, thread, thread, now, regs)) {
        w->flags |= has_stack;
        w->not_copied = 0;
      }
    }
  }
  barrier();
  w->since = now;
  if (is_of_processes(w->call) && !w->is_told) {
    w->is_told = 1;
    tell(event_shares, BPF_RB_NO_WAKEUP, task);
  }
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct* before, struct task_struct* after) {
  const bool one_leaves = is_recorded(before->tgid), one_comes = is_recorded(after->tgid);
  if (!one_leaves && !one_comes) return 0;
  const u64 now = bpf_ktime_get_ns();
  u32 state = before->__state;
  if (state_is_told) state = ctx[3];
  if (one_leaves && preempted) goes_on(before, now);
  else if (one_leaves) leave(before, state, now);
  if (one_comes) come_back(after, now);
  return 0;
}

// How it is woken by a thread in a futex call with these registers.
static __always_inline u32 flags_of_wake(const struct pt_regs* regs) {
  u32 count = 0;
  bpf_probe_read_user(&count, sizeof count, (void*)regs->di);
  const u32 value = count & ~(1u << 31);              // musl's semaphores have another bit there
  return ((u32)regs->dx != 1 ? woken_with_all : 0) |  // how many, also of futex_wake
         (value > 1 ? for_several : 0);
}

// It is woken when it is in line already, but has not left its processor yet: the kernel may look
// for other work for that meanwhile, which takes longer than many a section.
static __always_inline void note_early(struct waiting_thread* w, struct task_struct* woken) {
  struct pt_regs* at = (struct pt_regs*)bpf_task_pt_regs(woken);
  w->early = bpf_ktime_get_ns();
  w->early_waker = w->early_flags = 0;
  const u64 call = at->orig_ax == call_restart ? w->last_call : at->orig_ax;
  const bool waits =
      call == call_futex ? waits_in(at->si & futex_command) : call == call_futex_wait;
  if (!waits) return;
  struct task_struct* waker = bpf_get_current_task_btf();
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(waker);
  const struct waited from = {at->di, call == call_futex ? at->si : 0,
                              call == call_futex ? at->dx : 0};
  if (!wakes(waker, woken, regs, from)) return;
  w->early_waker = waker->pid;
  w->early_flags = flags_of_wake(regs);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct* woken) {
  if (!is_recorded(woken->tgid)) return 0;
  const u32 thread = woken->pid;
  struct waiting_thread* w = bpf_map_lookup_elem(&waiting, &thread);
  if (!w) return 0;
  if (w->begun == 0) {
    note_early(w, woken);
    return 0;
  }
  if (w->woken) return 0;
  w->woken = bpf_ktime_get_ns();
  if (!(w->flags & waits_at_futex)) return 0;
  struct task_struct* waker = bpf_get_current_task_btf();
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(waker);
  const struct waited from = {w->address, w->operation, w->word};
  if (!wakes(waker, woken, regs, from)) return 0;
  w->waker = waker->pid;
  w->waker_flags |= flags_of_wake(regs);
  if (regs->orig_ax == call_exit || regs->orig_ax == call_exit_group) return 0;
  const bool lasted = w->woken - w->begun >= long_wait;
  const u32 weight = lasted ? 1 : w->weight + w->wakers_not_copied;
  if ((w->flags & has_stack || (lasted && is_allowed(w->woken))) &&
      tell_stack(event_waker, weight, waker->tgid, waker->pid, thread, w->begun, regs)) {
    w->waker_flags |= has_waker_stack;
    if (!lasted) w->wakers_not_copied = 0;
  }
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
  if (!is_recorded(parent->tgid) || child->flags & is_kernels_own) return 0;
  if (child->tgid == parent->tgid) return tell(event_thread, BPF_RB_FORCE_WAKEUP, child);
  if (!follows) return 0;
  const u32 process = child->tgid;
  __sync_fetch_and_or(&recorded[process / 64 % recorded_words], 1ULL << process % 64);  // [N]
  struct fork_event* e = bpf_ringbuf_reserve(&events, sizeof *e, 0);
  if (!e) {
    __sync_fetch_and_add(&controls.lost_others, 1);  // [N]
    return 0;
  }
  fill_head(&e->head, event_fork, parent);
  e->child = process;
  e->unused = 0;
  bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct* task, int before, struct linux_binprm* of) {
  if (!is_recorded(task->tgid)) return 0;
  const u32 thread = task->pid;
  struct waiting_thread* w = bpf_map_lookup_elem(&waiting, &thread);
  was_back(w, thread, bpf_ktime_get_ns());
  if (w && w->blocked.times != 0) {  // by the program before
    keep_blocked(w, thread);
    w->blocked.times = w->blocked.ns = w->blocked.longest = 0;
  }
  tell_exec(task, w, of);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct* task) {
  const u32 process = task->tgid, thread = task->pid;
  if (!is_recorded(process)) return 0;
  // Of two that end at once both may say that they are the last.
  const bool last = task->signal->live.counter == 0;
  struct waiting_thread* w = bpf_map_lookup_elem(&waiting, &thread);
  was_back(w, thread, bpf_ktime_get_ns());
  if (w && w->blocked.times != 0) keep_blocked(w, thread);
  if (!(task->flags & is_kernels_own) || last) tell_exit(task, w, last);
  bpf_map_delete_elem(&waiting, &thread);
  return 0;
}

// On each processor, some times a second: where a recorded thread runs.
SEC("perf_event")
int on_sample(struct interrupted* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  if (!is_recorded(task->tgid) || task->flags & is_kernels_own) return 0;
  struct sample_key key = {ctx->registers[at_ip], task->tgid, 0};
  if (!(ctx->registers[at_cs] & is_users)) {
    key.address = ((struct pt_regs*)bpf_task_pt_regs(task))->ip;
    key.in_kernel = 1;
  }
  u32* seen = bpf_map_lookup_elem(&samples, &key);
  const u32 first = 1;
  if (seen) __sync_fetch_and_add(seen, 1);  // [N]
  else bpf_map_update_elem(&samples, &key, &first, BPF_ANY);
  return 0;
}

// Once, when the recording begins: threads that wait already.
SEC("iter/task")
int on_task(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task || !is_recorded(task->tgid) || task->flags & is_kernels_own) return 0;
  const u32 state = task->__state;
  if (!(state & (state_interruptible | state_uninterruptible | state_stopped | state_traced)))
    return 0;
  struct waiting_thread* w = entry_of(task->pid, task->tgid);
  if (!w || w->since != 0) return 0;
  describe(w, task, (struct pt_regs*)bpf_task_pt_regs(task), state);
  w->flags |= seeded;
  barrier();
  w->begun = bpf_ktime_get_ns();
  w->since = w->begun;
  if (task->__state == 0) w->begun = w->since = 0;  // it was woken meanwhile
  return 0;
}

// Each time that the recorder reads what all threads wait for. The map itself has far more room
// than there are threads.
SEC("iter/task")
int on_look(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task || !is_recorded(task->tgid)) return 0;
  const u32 thread = task->pid;
  struct waiting_thread* w = bpf_map_lookup_elem(&waiting, &thread);
  if (w) bpf_seq_write(ctx->meta->seq, w, sizeof *w);
  return 0;
}

char own_license[] SEC("license") = "GPL";
