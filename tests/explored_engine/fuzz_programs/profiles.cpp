// Which kinds of steps stand together in a program: those of one kind of objects, each with plain
// atomics, through which the order of the others shows.
#include "plan.h"

using enum kind;

const profile all_profiles[profiles] = {
    {"atomics", load, store, add, exchange, compare_exchange, weak_compare_exchange, fence,
     raise_to, count_down_to_zero, yield},
    {"floats", float_add, float_add, load, store, raise_to, fence, poll_twice},
    {"references", ref_add, ref_store, ref_load, ref_load, fence, load, store},
    {"pairs", pair_load, pair_store, pair_compare_exchange, load, store, fence},
    {"once", call_once, call_once_that_throws, posix_once, local_static, load, store, cell_read},
    {"rwlocks", shared_section, exclusive_section, try_shared, try_exclusive, timed_shared,
     timed_exclusive, load, store},
    {"posix_rwlocks", posix_read, posix_write, shared_section, exclusive_section, load, store,
     section},
    {"spawns", section, try_section, timed_section, spawn_in_section, spawn_and_join,
     spawn_detached, load, store},
    {"conditions", timed_wait, timed_wait_until_ready, signal_one, signal_all, set_ready, section,
     store, load},
    {"latches", latch_down, latch_try, latch_meet, load, store, cell_read_if_told},
    {"semaphores", semaphore_release, semaphore_release, semaphore_try, semaphore_timed, load,
     store},
    {"nodes", push_node, push_node, push_counter, take_node, take_node, take_counter, load, store},
    {"thread_ends", thread_local_end, thread_keys, load, store, add, spawn_detached, spawn_and_join,
     c11_thread},
    {"waits", wait_for_value, notify, store_and_notify, store_and_notify, load, store},
    {"posix", spin_section, posix_semaphore_post, posix_semaphore_timed, posix_semaphore_try,
     recursive_section, posix_barrier_meet, load, store},
    {"c11", c11_section, c11_timed_section, c11_timed_wait, c11_signal, c11_thread, thread_keys,
     load, store},
    {"futures", promise_set, future_timed, future_poll, load, store, cell_read},
    {"stops", stop_request, stop_requested, stop_waiting_thread, stop_callback, load, store},
    {"barriers", barrier_meet, load, store, cell_read_if_told},
    {"cells", cell_read, cell_write, cell_read_if_told, section, store, load, shared_section,
     exclusive_section},
    {"std_conditions", std_timed_wait, std_set_flag, section, load, store, cell_read_if_told},
    {"fences", fence, fence, add, exchange, load, store, cell_read_if_told, cell_write},
};
