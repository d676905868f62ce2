// identity.h -- who a thread of the program is.
#pragma once

#include "model/front/engine.h"
#include "model/front/scope.h"

namespace syncopate::instrument {

// The engine's index of the calling thread; 0, main's, while static constructors run.
inline unsigned current_thread() noexcept {
  if (!in_program()) return 0;
  const engine_scope inside;
  return engine::current();
}

// What gettid() returns in a thread: small, and the same in every run. The child of a fork has
// others, since it is asked who holds a mutex in memory that both share: its parent's, and as many
// as a process has threads at once further for each child before it.
inline constinit int first_thread_id = 1000, children = 0;
inline int thread_id(unsigned index) noexcept { return static_cast<int>(index) + first_thread_id; }
inline void become_child() noexcept {
  constexpr int threads = 1 << 16, most_processes = 1 << 13, at_once = 16;
  const int parent = first_thread_id / threads;
  first_thread_id = 1000 + (parent * at_once + children) % most_processes * threads;
  children = 0;
}

// What getpid() returns in a program with a client, to whose results nothing from outside adds:
// more than the system's numbers ever are (2^22), so that nobody else is meant by it.
inline constexpr int process_number = (1 << 22) + 1;

// Asked for the machine, not for this computer: the program and its static constructors, but for
// the machine's own code that answers these: what it allocates must not move the program's blocks.
inline constinit bool constructing = false;
inline bool asks_machine() noexcept { return in_program() || (constructing && machine_depth == 1); }

}  // namespace syncopate::instrument
