// turn.h -- waits for an iteration's turn (`ordered`, doacross), which stay the runtime's: while
// recording they are told to the recorder.
//
// A thread that does not come to the ordered part of its iteration, or chunk, waits for its turn
// all the same when that ends, to pass it on: past_turn tells the two apart.
#pragma once

#include "openmp/runtime/caller.h"

namespace syncopate::openmp {

// Around the runtime's call. `caller`: the return address of the program's call.
class turn {
 public:
  turn(const binding& meant, const void* caller) noexcept : waits_(begin(meant, caller)) {}
  ~turn() {
    if (__builtin_expect(waits_, 0)) end();
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

 private:
  // False: it is not recorded.
  static bool begin(const binding& meant, const void* caller) noexcept;
  static void end() noexcept;

  const bool waits_;
};

// Whether the thread had its turn since it was asked last; false again from now on.
bool past_turn() noexcept;
// It has it.
void note_turn() noexcept;

// The calling thread begins a doacross of so many loops.
void note_doacross(unsigned count) noexcept;

}  // namespace syncopate::openmp
