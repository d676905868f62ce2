// describe_threads.h -- what each thread is doing when a run is stopped.
#pragma once

namespace syncopate::simulated {

struct world;

// Writes one line to standard error for each thread that has not ended: what it waits for, in which
// call of the program, and who had that last. Unwinds the threads' stacks, on their fibers.
void describe_threads(world&);

}  // namespace syncopate::simulated
