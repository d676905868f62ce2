// libc_calendar.cpp -- calendar time as the C library keeps it for all threads: one broken-down
// time, which gmtime() and localtime() write, and one text, which asctime() and ctime() write.
#include <cstring>
#include <ctime>

#include "model/front/libc/call_memory.h"

namespace syncopate::instrument {
namespace {

std::tm* broken_down(const std::time_t* time, std::tm* (*real)(const std::time_t*),
                     engine::place where) {
  if (by_program(where)) call_reads(time, sizeof *time, where);
  const auto by_library = [&] {
    const engine_scope inside;  // the C library keeps time zones
    return real(time);
  };
  std::tm* const result = by_library();
  if (by_program(where)) call_wrote(result, sizeof *result, where);
  return result;
}

template <class From>
char* as_text(const From* from, char* (*real)(const From*), engine::place where) {
  if (by_program(where)) call_reads(from, sizeof *from, where);
  const auto by_library = [&] {
    const engine_scope inside;
    return real(from);
  };
  char* const result = by_library();
  if (result != nullptr && by_program(where)) {
    constexpr std::size_t length = sizeof "Thu Jan  1 00:00:00 1970\n";  // or longer, far off
    call_wrote(result, length, where);
  }
  return result;
}

}  // namespace
}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT std::tm* gmtime(const std::time_t* time) noexcept {
  return broken_down(time, SYNCOPATE_REAL(gmtime), SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT std::tm* localtime(const std::time_t* time) noexcept {
  return broken_down(time, SYNCOPATE_REAL(localtime), SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT char* asctime(const std::tm* time) noexcept {
  return as_text(time, SYNCOPATE_REAL(asctime), SYNCOPATE_CALLER);
}
SYNCOPATE_EXPORT char* ctime(const std::time_t* time) noexcept {
  return as_text(time, SYNCOPATE_REAL(ctime), SYNCOPATE_CALLER);
}
