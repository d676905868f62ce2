// watcher.h -- what watches a program's OpenMP runtime, and knows that one's own waits only.
//
// A tool by OpenMP's own interface for these (OMPT) is told by the runtime of each barrier, lock
// and critical section. The thread sanitizer learns from such a tool, LLVM's Archer, what those
// order.
// Where ours stand in their place, the tool misses them, and the sanitizer tells of races that are
// none.
#pragma once

namespace syncopate::openmp {

// Says in one line what watches the runtimes of this process; false: nothing that is there by now.
// It may be there in vain: whether a tool wants to be one, it says when the runtime begins.
bool say_what_watches() noexcept;

}  // namespace syncopate::openmp
