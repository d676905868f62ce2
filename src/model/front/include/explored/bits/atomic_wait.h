// bits/atomic_wait.h -- libstdc++'s header of this name, for the explored machine: its waits look a
// few times before they sleep, with `pause` in between, then with a yield. Each look is a branching
// point; with a yield in every turn the explored machine follows the loop as one that polls.
#pragma GCC system_header
extern "C" int sched_yield(void) noexcept;
#define __builtin_ia32_pause sched_yield
#include_next <bits/atomic_wait.h>
#undef __builtin_ia32_pause
