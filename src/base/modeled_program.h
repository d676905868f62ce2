// modeled_program.h -- whether the process that a native library was loaded into runs on a modeled
// machine.
//
// Such a program has its locks, threads and OpenMP from that machine's library. A library that is
// loaded before that one, as into each child of a program that is run or recorded, must pass all
// calls on: with real locks in their place modeled times are false, and an explored program stands
// still.
#pragma once

// Of the machine's library (include/syncopate/machine/instrumented.h); bound where there is one.
extern "C" [[gnu::weak]] unsigned syncopate_processors() noexcept;

namespace syncopate {

// May be asked as soon as the asking library is relocated; calls nothing.
[[nodiscard]] inline bool is_in_modeled_program() noexcept {
  return &::syncopate_processors != nullptr;
}

}  // namespace syncopate
