// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// kernel_types.h -- those parts of the kernel's own types that waits.bpf.c uses, whose places are
// found when the program is loaded (CO-RE), and its numbers: flags and states of tasks, system
// calls of x86-64, futex operations.
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
struct mm_struct {
  unsigned long arg_start, arg_end;
};
struct linux_binprm {
  const char* filename;
};
struct task_struct {
  struct thread_info thread_info;
  struct mm_struct* mm;
  u32 __state;
  u32 flags;
  int pid, tgid;
  int exit_code;
  struct sched_entity se;
  struct sched_info sched_info;
  struct signal_struct* signal;
  char comm[16];
};
struct seq_file;
struct bpf_iter_meta {
  struct seq_file* seq;
};
struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};
#pragma clang attribute pop

// What a program of the kind perf_event is given: the registers in the order of pt_regs.
struct interrupted {
  u64 registers[21];
};

enum {
  at_ip = 16,
  at_cs = 17,
  is_users = 3,  // of cs: the privilege, which is the kernel's where it is 0
  is_kernels_own = 0x00200000 | 0x4000 | 0x10,  // PF_KTHREAD, PF_USER_WORKER, PF_IO_WORKER
  is_32_bit = 2,                                // TS_COMPAT
  is_ending = 4,                                // PF_EXITING
  state_interruptible = 1,
  state_uninterruptible = 2,
  state_stopped = 4,
  state_traced = 8,
  of_x32 = 0x40000000,  // of a system call
  call_poll = 7,
  call_select = 23,
  call_pause = 34,
  call_nanosleep = 35,
  call_exit = 60,
  call_semop = 65,
  call_msgsnd = 69,
  call_msgrcv = 70,
  call_fcntl = 72,
  call_flock = 73,
  call_futex = 202,
  call_restart = 219,  // goes on with what a signal interrupted, its arguments in their registers
  call_semtimedop = 220,
  call_exit_group = 231,
  call_pselect = 270,
  call_ppoll = 271,
  call_futex_waitv = 449,
  call_futex_wake = 454,
  call_futex_wait = 455,
  call_futex_requeue = 456,
  futex_command = 127,
  futex_private = 128,
  futex_thread = 0x3fffffff,  // of the word of a lock that says who has it
  futex_wait = 0,
  futex_lock_pi = 6,
  futex_wait_bitset = 9,
  futex_wait_requeue_pi = 11,
  futex_lock_pi2 = 13,
};
