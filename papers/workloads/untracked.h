// untracked.h -- code that modeled machines do not see: it fills tables before a run, in no machine
// time, and leaves the machine's caches as cold as tables that are larger than them do.
#pragma once

// Before a function that calls nothing but what is inlined into it, and takes no lock.
#define WORKLOADS_UNTRACKED __attribute__((no_sanitize("thread"), noinline))
