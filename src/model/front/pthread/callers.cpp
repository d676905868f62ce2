// callers.cpp -- see callers.h. The C++ library is compiled without frame pointers, hence by
// unwind tables.
#include "model/front/pthread/callers.h"

#include <cstdint>
#include <iterator>

#include <unwind.h>

#include "model/front/libc/libc_range.h"
#include "model/front/scope.h"

namespace syncopate::instrument {

namespace {

struct search {
  bool in_library = false;
  engine::place found = nullptr;
  const engine::place* slot = nullptr;  // the word of the stack that holds it
};

// What was found last for a place in the library, which is an ordinary function's: where it was
// called with the same stack pointer, the same word holds where it returns to. (All fibers share
// one OS thread.)
struct known_caller {
  engine::place where = nullptr;
  const void* frame = nullptr;
  search s;
};
constinit known_caller known[64];

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* sought) {
  search& s = *static_cast<search*>(sought);
  const auto place = reinterpret_cast<engine::place>(_Unwind_GetIP(context));
  if (cpp_library_code.has(place)) {
    s.in_library = true;
  } else if (s.in_library) {
    s.found = place;
    s.slot = reinterpret_cast<const engine::place*>(_Unwind_GetCFA(context)) - 1;
    return _URC_END_OF_STACK;
  }
  return _URC_NO_REASON;
}

}  // namespace

engine::place program_caller(engine::place where) {
  if (!cpp_library_code.has(where)) return where;
  const engine_scope inside;
  const void* const frame = __builtin_frame_address(0);
  const auto hash =
      (reinterpret_cast<std::uintptr_t>(where) ^ reinterpret_cast<std::uintptr_t>(frame) << 8) *
      0x9e3779b97f4a7c15u;
  known_caller& last = known[hash >> 58];
  static_assert(std::size(known) == 64);
  if (last.where == where && last.frame == frame && *last.s.slot == last.s.found)
    return last.s.found;
  search s;
  _Unwind_Backtrace(look_at, &s);
  if (s.found == nullptr) return where;
  if (*s.slot == s.found) last = {where, frame, s};
  return s.found;
}

}  // namespace syncopate::instrument
