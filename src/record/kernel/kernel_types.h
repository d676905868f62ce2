// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// kernel_types.h -- those parts of the kernel's own types that waits.bpf.c uses. Their places are
// found when the program is loaded (CO-RE).
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
  unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
      flags, sp, ss;
};
struct sched_entity {
  u64 sum_exec_runtime;
};
struct sched_info {
  u64 run_delay;
};
struct signal_struct {
  int group_exit_code;
  struct {
    int counter;
  } live;
};
struct thread_info {
  u32 status;
};
struct task_struct {
  struct thread_info thread_info;
  u32 __state;
  u32 flags;
  int pid, tgid;
  int exit_code;
  struct sched_entity se;
  struct sched_info sched_info;
  struct signal_struct* signal;
  char comm[16];
};
struct bpf_iter__task {
  void* meta;
  struct task_struct* task;
};
#pragma clang attribute pop
