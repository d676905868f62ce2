// places.h -- what a record's barriers of OpenMP are, by their type: their address is a place in
// the program, which names them (naming.py).
#pragma once

namespace syncopate::openmp {

enum place_type : int {
  place_in_program = 1,         // where a barrier is called
  region_of_gnu = 2,            // where a region is started: the function that libgomp is to run,
  region_of_other = 3,          // or the call of another runtime
  turn_in_program = 4,          // where a thread waits for its iteration's turn
  region_that_may_be_kept = 5,  // as of libgomp's, with --omp-regions kept
};

}  // namespace syncopate::openmp
