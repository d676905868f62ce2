// chosen_barrier.h -- barriers whose waiting a policy has chosen, beside glibc's.
//
// glibc's init call is made in any case: its 20 bytes say how many threads, and whether processes
// share the barrier (then it stays glibc's). Ours is a page of its own, to which the last 8 of
// pthread_barrier_t's 32 bytes point; zero: none.
#pragma once

#include <cstdint>

#include <pthread.h>

#include "base/option.h"

namespace syncopate::shim {

inline constexpr const char* barrier_waits[] = {"park", "spin_then_park", "yield", "spin"};
static_assert(are_words(names_of("barrier"),
                        {barrier_waits[0], barrier_waits[1], barrier_waits[2], barrier_waits[3]}));

struct chosen_barrier;

// Which of barrier_waits this is, counted from 1; 0: none.
unsigned find_barrier_wait(const char* name) noexcept;

// After glibc's init call, of a barrier of `count` threads. `wait`: as find_barrier_wait() says.
void choose_barrier(pthread_barrier_t* b, unsigned count, unsigned wait) noexcept;
// The barrier's own, or null. Requires: it was initialized after the policy was known to exist.
chosen_barrier* chosen_barrier_of(pthread_barrier_t* b) noexcept;
// Returns whether the caller was the last to arrive; leave() is to follow, and touches it last.
bool arrive_and_wait(chosen_barrier& barrier) noexcept;
void leave(chosen_barrier& barrier) noexcept;
// Waits until nobody is in it any more, as POSIX asks of destroy.
void destroy_chosen(pthread_barrier_t* b) noexcept;

}  // namespace syncopate::shim
