// sorting.cpp -- qsort in transactions: a merge sort between two private copies of the array.
//
// Not the C library's qsort() on a copy: it holds memory of its own while it calls `compare`, which
// would be lost where the transaction begins again.
#include "tm/libc/clone.h"

#include <syncopate/tm/libc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

using namespace syncopate::tm;

namespace {

using compare_function = int (*)(const void*, const void*);

compare_function plain(tm_compare_function compare) {
  return reinterpret_cast<compare_function>(compare);
}

}  // namespace

void tm_qsort(void* base, std::size_t count, std::size_t size, tm_compare_function compare) {
  std::qsort(base, count, size, plain(compare));
}

SYNCOPATE_TM_CLONE(tm_qsort, 8);

namespace {

// Merges the sorted runs [low, middle) and [middle, high) of `from` to the same place of `to`.
void merge(char* to, const char* from, std::size_t low, std::size_t middle, std::size_t high,
           std::size_t size, compare_function compare) {
  std::size_t left = low, right = middle;
  for (std::size_t out = low; out < high; ++out) {
    const bool take_left =
        left < middle && (right == high || compare(from + left * size, from + right * size) <= 0);
    std::memcpy(to + out * size, from + (take_left ? left++ : right++) * size, size);
  }
}

}  // namespace

void clone_of_tm_qsort(void* base, std::size_t count, std::size_t size,
                       tm_compare_function compare) {
  std::size_t bytes = 0;
  if (count < 2 || size == 0) return;
  auto* const in_transaction = reinterpret_cast<compare_function>(
      _ITM_getTMCloneOrIrrevocable(reinterpret_cast<void*>(compare)));
  auto* const room = __builtin_mul_overflow(count, 2 * size, &bytes)
                         ? nullptr
                         : static_cast<char*>(_ITM_malloc(bytes));
  if (room == nullptr) {  // in place, while nobody looks
    _ITM_changeTransactionMode(serial_irrevocable);
    _ITM_LB(base, count * size);
    return std::qsort(base, count, size, plain(compare));
  }
  char *from = room, *to = room + count * size;
  _ITM_memcpyRtWn(from, base, count * size);
  for (std::size_t run = 1; run < count; run *= 2, std::swap(from, to))
    for (std::size_t low = 0; low < count; low += 2 * run)
      merge(to, from, low, std::min(low + run, count), std::min(low + 2 * run, count), size,
            in_transaction);
  _ITM_memcpyRnWt(base, from, count * size);
  _ITM_free(room);
}
