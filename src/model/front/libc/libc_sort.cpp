// libc_sort.cpp -- qsort(): the elements that it moves are announced.
#include <cstdlib>

#include "model/front/libc/libc_range.h"

using namespace syncopate::instrument;
using syncopate::engine::kind;

using comparison = int(const void*, const void*);
using comparison_with = int(const void*, const void*, void*);

SYNCOPATE_EXPORT void qsort(void* base, std::size_t count, std::size_t bytes, comparison* compare) {
  const auto* const where = SYNCOPATE_CALLER;
  if (by_program(where)) announce(base, count * bytes, kind::write, where);
  SYNCOPATE_REAL(qsort)(base, count, bytes, compare);
}
SYNCOPATE_EXPORT void qsort_r(void* base, std::size_t count, std::size_t bytes,
                              comparison_with* compare, void* context) {
  const auto* const where = SYNCOPATE_CALLER;
  if (by_program(where)) announce(base, count * bytes, kind::write, where);
  SYNCOPATE_REAL(qsort_r)(base, count, bytes, compare, context);
}
