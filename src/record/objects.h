// objects.h -- the table of locks, conditions, barriers and futex words.
#pragma once

#include "record/file.h"

namespace syncopate::record {

// The entry of this id; entry 0 (locks beyond the table) for ids that are not in the table.
lock_entry* lock_of(std::uint32_t id) noexcept;

// `id` if it is in the table, else 0.
std::uint32_t known_id(std::uint32_t id) noexcept;

// The id of an object that has a number in place of an address (told.h); `stack`: from which it is
// used, should this be the first time. Requires: inside an `entry`.
std::uint32_t identify_told(object_kind, std::uint64_t address, std::uint32_t stack) noexcept;

// A futex or semaphore that somebody has waited for: its id, 0 if nobody has. Requires: inside an
// `entry`.
std::uint32_t known_object(object_kind, const void* object) noexcept;
// Counts that its waiters were woken (futex_wakes::with()).
void count_wake(std::uint32_t id, bool by_waiter, bool one) noexcept;

// Counts that threads which wait for a condition variable are woken.
void count_signal(std::uint32_t id) noexcept;

// Adds one hold of `ticks` to the lock's sums and histogram. Other threads do so too.
void add_hold(std::uint32_t id, std::uint64_t ticks, std::uint32_t weight) noexcept;

// Tells what the thread has counted by itself. Called by itself, or by finish().
void tell_counts(thread_state&) noexcept;

// Adds the acquisitions that live objects have counted since the last sampled one. May be called
// again: each is added once.
void add_remainders() noexcept;

bool prepare_objects() noexcept;
void forget_objects() noexcept;

}  // namespace syncopate::record
