// subject.h -- what the tests name: places and variables in a file with debug information, in one
// without, and in a shared library.
#pragma once

#include <array>
#include <atomic>

struct padded {
  alignas(64) std::atomic<int> word;
};

namespace subject {
struct part {
  int first;
  std::array<padded, 3> slots;
};
struct base {
  long inherited;
};
struct whole : base {
  part parts[2];
  union {
    int number;
    float real;
  };
};
inline whole the_whole;
inline std::atomic<int> counter;
inline thread_local int per_thread[4];

const void* place_of_call();         // of a call in an ordinary function
const void* place_in_inlined();      // of a call in a function that was inlined
const void* place_behind_library();  // of a call in the standard library, inlined
const void* place_in_lambda();
int* static_of_function();
}  // namespace subject

// Compiled without debug information.
extern "C" const void* bare_place();
extern "C" int bare_numbers[6];

// In a shared library, with debug information.
namespace library {
const void* place_of_call();
int* numbers();  // library::variable: not copied into the executable
}  // namespace library
