// callers.cpp -- the stack of calls. Which calls led to an operation: what is named in a
// report, where the place itself lies in a header of the library, and what tells loops apart that
// yield in one function. And which variables are gone since their function has returned.
#include "machine.h"

#include "model/front/program/layout.h"

#include <algorithm>
#include <utility>

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

// Somebody accesses what may be a variable on a stack.
void machine::note_stack(address at) {
  using namespace instrument::layout;
  if (at < stacks || at >= stacks + stack_slots * stack_slot) return;
  for (unsigned t = 0; t < count_; ++t) {
    thread& owner = threads_[t];
    if (owner.now == state::ended || owner.fiber == nullptr) continue;
    const auto stack = instrument::stack_of(owner.fiber);
    if (at < stack.low || at >= stack.high) continue;
    owner.touched = std::min(owner.touched, at);
    return;
  }
}

// The calling thread's stack ends there now: leaving its variables below is writing to them. (It is
// noted at the thread's next operation outside of their functions, where frame pointers tell which
// that is: later than it happens. Whoever comes in between is in order with it, or is found.)
void machine::leave_frames(address up_to, place where) {
  const address low = std::exchange(me().touched, std::max(me().touched, up_to));
  if (low >= up_to) return;
  const access_record* const other =
      shadow_.leave(low, up_to, current_, memory_.of(current_).happened, where);
  if (other == nullptr) return;
  const access_record record = *other;
  fail(failure_kind::race,
       std::string(name(touch::leave)) + " and " + name(record.how) + " by thread " +
           std::to_string(record.thread) + " are not ordered",
       where, record.where);
}

}  // namespace syncopate::explored
