// kernel_events.h -- what the program in the kernel (waits.bpf.c) tells the recorder. In C, which
// both read. Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once

enum kernel_event_type {
  event_wait = 1,  // a thread has waited at a futex: wait_event
  event_stack,     // the stack of a thread that begins to wait: stack_event
  event_waker,     // the stack of a thread that wakes another: stack_event
  event_thread,    // a thread began: event_head alone
  event_exit,      // a thread ended: exit_event
  event_fork,      // a process began: fork_event
  event_exec,      // a process runs another program now: exec_event
  event_shares,    // a thread waits for what processes share, in no futex call: event_head alone
};

// Bits of waiting_thread::flags.
enum waiting_flag {
  waits_at_futex = 1,   // else in another system call, or in a page fault
  has_stack = 2,        // an event_stack tells where it waits
  has_waker_stack = 4,  // an event_waker tells who woke it
  seeded = 8,           // it waited before the recording began; `since` is when that was seen
  is_timed = 16,        // the call has a time limit
  woken_with_all = 32,  // who woke it would have woken others, too
  resumed = 64,         // the same wait as before, which a signal had interrupted
  for_several = 128,    // what it was woken at was then, as a semaphore, for more than one to take
};

enum { kernel_stack_bytes = 16384, kernel_registers = 17, kernel_name_bytes = 16 };

// Nanoseconds. Waits that last longer always have their stack, and that of who ended them.
enum { long_wait = 50 * 1000 * 1000 };

// Of the bits that say which processes are recorded: process numbers are below 2^22.
enum { recorded_words = (1 << 22) / 64 };

// The user's registers by DWARF's numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8-r15, return
// address. Those that a system call overwrites are 0.
struct user_registers {
  unsigned long long of[kernel_registers];
};

struct event_head {
  unsigned int type, process, thread;
  unsigned int weight;  // how many such events this one stands for
  unsigned long long time;
};

// Time blocked in one system call until woken, in the map `blocked`.
struct blocked_key {
  unsigned int process, thread, call;
};
struct blocked_sum {
  unsigned long long times, ns, longest;
};

// What a thread waits for, by kernel thread id in the map `waiting`, until the thread ends.
struct waiting_thread {
  unsigned long long since;    // 0: it does not wait
  unsigned long long address;  // of the futex
  unsigned long long woken;    // 0: not yet
  unsigned long long begun;    // as `since`, but set before the stack is copied: for who wakes it
  unsigned int call;           // number of the system call, or no_call and its like
  unsigned int operation;      // of the futex
  unsigned int word, owner;    // at the futex and 8 bytes behind it, when the wait began
  unsigned int waker;          // kernel thread id of who woke it by a futex call; 0: nobody did
  unsigned int flags;          // waiting_flag, those of the waiter
  unsigned int waker_flags;    // and those of the waker, who may be there at the same time
  unsigned int weight;         // of its event_stack
  unsigned int not_copied;     // waits chosen for a copy since the last one that was made
  unsigned int wakers_not_copied;  // the same of those who end such waits
  unsigned int process;
  unsigned int last_call;    // number of the system call that it was blocked in last
  unsigned long long early;  // the last time that it was woken before `begun` was set; 0: never
  unsigned int early_waker, early_flags;  // `waker` and `waker_flags` of that
  unsigned int is_told;                   // whether its event_shares was
  unsigned int chance;                    // of the generator that chooses whose stack is copied
  unsigned int thread;                    // its kernel thread id
  unsigned int blocked_in;     // the last call that it was blocked in, and the sum of that
  struct blocked_sum blocked;  // since it was in another one
  struct user_registers registers;
};

// Where a thread of the process ran when it was looked at, in the map `samples`.
struct sample_key {
  unsigned long long address;  // in the program: where it runs, or where it called the kernel
  unsigned int process, in_kernel;
};

// Blocked in no call, as in a page fault; stopped, in whatever call; in a call with the numbers of
// 32-bit programs or of x32. records/account.py knows them.
enum { no_call = 0xffffffff, stopped = 0xfffffffe, other_call = 0xfffffffd };

struct wait_event {
  struct event_head head;  // time: when the thread got a processor again
  unsigned long long since, address, woken;
  unsigned int operation, word, owner, waker, flags, call;
};

struct exit_event {
  struct event_head head;
  unsigned long long cpu_ns, delay_ns;
  unsigned int exit_code;    // as waitpid says
  unsigned int last;         // whether no thread of the process is left
  unsigned int in_a_wait;    // whether it was in a futex call, which ended with it
  unsigned int has_blocked;  // whether the map `blocked` may have something of it
  char name[kernel_name_bytes];
};

struct exec_event {
  struct exit_event before;  // what ended with it
  unsigned int command_bytes;
  unsigned int unused;
  char executable[256];  // as it was called
  char command[1024];    // as /proc/PID/cmdline, its first bytes
};

struct fork_event {
  struct event_head head;  // of the parent
  unsigned int child;
  unsigned int unused;
};

struct stack_event {
  struct event_head head;
  unsigned long long since;  // the wait's that it belongs to
  unsigned int waiter;       // its kernel thread id
  unsigned int bytes;        // of the stack, from the stack pointer up
  struct user_registers registers;
  unsigned char stack[kernel_stack_bytes];
};

// What the recorder sets and reads while the program runs.
struct kernel_controls {
  unsigned int period;  // of so many waits one has its stack copied, by chance
  unsigned int unused;
  // Stacks are copied until so many were; the first that is wanted later moves the limit up.
  unsigned long long stacks_allowed, stacks_taken, allowed_at;
  unsigned long long lost_waits, lost_ns;  // that did not fit into the buffer
  unsigned long long lost_stacks;          // the same, or beyond the limit
  unsigned long long lost_others;
};
