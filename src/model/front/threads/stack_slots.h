// stack_slots.h -- memory for stacks and thread-control blocks at fixed addresses.
//
//   slot: [ unmapped | the fiber's stack, grows down | parked OS thread's stack | TLS, TCB ] top
//
// The C library makes a thread-control block only for a thread of its own. So each slot has one: an
// OS thread that has gone to sleep for good on the uppermost part of the slot.
//
// Memory order (each tag stands at its site below)
//   [R]  release store by the parked thread, acquire load: its thread-control block is complete.
#pragma once

#include "model/front/threads/fiber_state.h"

namespace syncopate::instrument {

// Gives the fiber of a slot its memory and, at its first use, its thread-control block: sets stack,
// pointer. Ends the process with one line where the system refuses.
void prepare_slot(fiber&, std::size_t stack_bytes);

}  // namespace syncopate::instrument
