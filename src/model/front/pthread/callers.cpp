// callers.cpp -- see callers.h. The C++ library is compiled without frame pointers, hence by
// unwind tables.
#include "model/front/pthread/callers.h"

#include <unwind.h>

#include "model/front/libc/libc_range.h"
#include "model/front/scope.h"

namespace syncopate::instrument {

namespace {

struct search {
  bool in_library = false;
  engine::place found = nullptr;
};

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* sought) {
  search& s = *static_cast<search*>(sought);
  const auto place = reinterpret_cast<engine::place>(_Unwind_GetIP(context));
  if (cpp_library_code.has(place)) {
    s.in_library = true;
  } else if (s.in_library) {
    s.found = place;
    return _URC_END_OF_STACK;
  }
  return _URC_NO_REASON;
}

}  // namespace

engine::place program_caller(engine::place where) {
  if (!cpp_library_code.has(where)) return where;
  const engine_scope inside;
  search s;
  _Unwind_Backtrace(look_at, &s);
  return s.found != nullptr ? s.found : where;
}

}  // namespace syncopate::instrument
