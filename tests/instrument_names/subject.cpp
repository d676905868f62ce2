#include "subject.h"

#include "here.h"

#include <algorithm>

namespace subject {

const void* place_of_call() {
  const void* place = here();  // line 10
  return place;
}

static inline __attribute__((always_inline)) const void* inner() {
  const void* place = here();  // line 15
  return place;
}

const void* place_in_inlined() {
  return inner();  // line 20
}

const void* place_behind_library() {
  const void* place = nullptr;
  const int one[] = {1};
  std::for_each(
      one, one + 1, [&](int) __attribute__((always_inline)) { place = here(); });
  return place;
}

const void* place_in_lambda() {
  auto asks = []() __attribute__((noinline)) {
    const void* place = here();  // line 33
    return place;
  };
  return asks();
}

int* static_of_function() {
  static int calls = 0;
  ++calls;
  return &calls;
}

}  // namespace subject
