// signal_stacks.h -- sigaltstack() of a program whose threads are fibers. The kernel keeps one such
// stack for each OS thread, and there is one: it has that of the fiber that runs. Who has none of
// its own has the machine's, for the machine's own signals, and is told that it has none.
#pragma once

#include <csignal>

#include "model/front/threads/fiber_state.h"

namespace syncopate::instrument {

// As sigaltstack(), for the calling thread.
int change_signal_stack(const stack_t* to, stack_t* was);

inline constinit bool any_has_signal_stack = false;
void tell_signal_stack(const fiber&);

// The fiber runs again, on its own stack: until then the kernel may see the thread on another's
// signal stack, and refuses to change it.
inline void use_signal_stack(const fiber& of) {
  if (any_has_signal_stack) [[unlikely]]
    tell_signal_stack(of);
}

}  // namespace syncopate::instrument
