// surroundings.h -- what explore() does around each execution; all of it may be empty.
#pragma once

#include <functional>
#include <span>

namespace syncopate::explored {

struct surroundings {
  std::function<void()> before;            // put the program's memory back
  std::function<void(bool shown)> output;  // show the program's output, or drop it
  bool all_must_end = false;    // a thread that waits when main has ended is a deadlock, too
  std::function<void()> after;  // the execution ran to its end
  std::function<void()> child;  // this process explores a part for another one (jobs.cpp)
  // For tests, whose programs are not compiled by us: a recognized loop on what nobody will change
  // waits, as an await does, and is no failure; and what the running thread keeps on its stack.
  bool loops_may_stay = false;
  std::span<const unsigned char> (*stack)() = nullptr;
};

}  // namespace syncopate::explored
