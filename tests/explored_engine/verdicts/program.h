// program.h -- what these programs share: two things at once, and main().
#pragma once

#include <thread>

#include "../../check/scenario.h"

template <class First, class Second>
void both(First first, Second second) {
  std::thread other(second);
  first();
  other.join();
}

template <class First, class Second, class Third>
void all_three(First first, Second second, Third third) {
  std::thread other(second), another(third);
  first();
  other.join();
  another.join();
}
