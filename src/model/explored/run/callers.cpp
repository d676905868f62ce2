// callers.cpp -- the stack of calls. Which calls led to an operation: what is named in a
// report, where the place itself lies in a header of the library, and what tells loops apart that
// yield in one function.
#include "machine.h"

#include "model/front/program/layout.h"

namespace syncopate::explored {

namespace {
constexpr unsigned most_frames_of_ours = 12;  // between an operation's place and here

bool is_machine_code(place at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return address >= instrument::layout::library && address < instrument::layout::library_end;
}
}  // namespace

// By frame pointers: programs for this machine have them, and so have we. Where a library has none,
// the callers end, or lack some.
caller_places machine::callers_of(place where) {
  caller_places found{};
  me().stands = 0;
  if (where == nullptr || me().fiber == nullptr) return found;
  struct frame {
    const frame* outer;
    place returns_to;
  };
  const auto stack = instrument::stack_of(me().fiber);
  const auto* at = static_cast<const frame*>(__builtin_frame_address(0));
  std::uintptr_t inner = stack.low;
  std::size_t count = 0;
  bool reached = false;
  for (unsigned n = 0; count < found.size() && (reached || n < most_frames_of_ours); ++n) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    if (address < inner || address + sizeof(frame) > stack.high || address % 8 != 0) break;
    if (reached) found[count++] = at->returns_to;
    reached |= at->returns_to == where;
    if (me().stands == 0 && !is_machine_code(at->returns_to)) me().stands = address + sizeof(frame);
    inner = address + sizeof(frame);
    at = at->outer;
  }
  return found;
}

}  // namespace syncopate::explored
