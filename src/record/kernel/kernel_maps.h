// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// kernel_maps.h -- what waits.bpf.c keeps in the kernel: its limits, variables and maps.
#pragma once

#include "kernel_events.h"
#include "kernel_types.h"

enum {
  most_calls = 1024,
  copied_at_once = 1024,
  buffer_bytes = 16 << 20,
  stacks_at_once = 256,
  between_stacks = 10 * 1000 * 1000,  // nanoseconds: then so many more
};

const volatile u8 state_is_told = 1;  // sched_switch has a fourth argument (Linux 5.18 and later)
const volatile u8 follows = 1;        // processes that a recorded one starts are recorded, too

struct kernel_controls controls = {.period = 1, .stacks_allowed = 256};

// Whether a process is recorded: a bit for each number that one can have. Most of what switches is
// somebody else's, which this tells without a search.
u64 recorded[recorded_words];

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, u32);
  __type(value, struct waiting_thread);
} waiting SEC(".maps");

struct {  // one entry, all zero: too large for a program's stack
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct waiting_thread);
} nothing SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, struct blocked_key);
  __type(value, struct blocked_sum);
} blocked SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);  // is read each second
  __type(key, struct sample_key);
  __type(value, u32);
} samples SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, buffer_bytes);
} events SEC(".maps");

static __always_inline bool is_recorded(u32 process) {
  return recorded[process / 64 % recorded_words] >> process % 64 & 1;
}
