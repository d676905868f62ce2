// places.h -- what a record's barriers of OpenMP are, by their type: their address is a place in
// the program, which names them (naming.py).
#pragma once

#include <cstdint>

#include "openmp/runtime/runtime.h"

namespace syncopate::openmp {

enum place_type : int {
  place_in_program = 1,         // where a barrier is called
  region_of_gnu = 2,            // where a region is started: the function that libgomp is to run,
  region_of_other = 3,          // or the call of another runtime
  turn_in_program = 4,          // where a thread waits for its iteration's turn
  region_that_may_be_kept = 5,  // as of libgomp's, with --omp-regions kept
  tasks_in_program = 6,         // where a thread waits for tasks
  end_of_region_of_others = 7,  // where those wait that have not started it: so far behind the
                                // region's place
  barrier_of_runtime = 8,       // where a barrier is called that is the runtime's
};
constexpr int behind_region = 3;

// The place in the program that calls us, as a return address. Where a function ends with the call,
// that is a jump, and the return address lies in our code: then the function's first byte is the
// place, counted as a call of no length. `caller` null: that place.
inline const void* place_of_call(const void* caller, void (*function)()) noexcept {
  if (caller != nullptr && (function == nullptr || !is_our_code(caller))) return caller;
  return reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(function) + 1);
}

}  // namespace syncopate::openmp
