#include "callers.h"

#include <iterator>

#include "model/emulated/libc/library_calls.h"

namespace syncopate::emulated {

namespace {

// Begin's caller, or the caller of this library's function that it is. This library and
// instrumented code keep frame pointers.
std::uintptr_t outside_caller(thread& t, place where) noexcept {
  auto code = reinterpret_cast<std::uintptr_t>(where);
  std::uintptr_t frame = t.saved.preserved[1], low = t.saved.stack_pointer;
  while (is_own_code(code)) {
    if (frame < low || frame + 16 > t.stack_top || frame % 8 != 0) return 0;
    const auto* const words = reinterpret_cast<const std::uintptr_t*>(frame);
    code = words[1];
    low = frame + 16;
    frame = words[0];
  }
  return code;
}

}  // namespace

bool begins_in_seen_code(thread& t, place where) noexcept {
  if (here.own != 0) return false;  // a library that the machine itself uses takes its locks
  const std::uintptr_t code = outside_caller(t, where);
  // The list of modules has a lock; what it says of a place does not change while it is loaded.
  std::uintptr_t& known = t.known_callers[(code ^ code >> 6) % std::size(t.known_callers)];
  if (known == code && code != 0) return true;
  if (!is_seen_code(code)) return false;
  known = code;
  return true;
}

}  // namespace syncopate::emulated
