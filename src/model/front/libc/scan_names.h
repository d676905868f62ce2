// scan_names.h -- the C library's function that takes a list, for each of the names that headers
// give scanf and its like: the C90 one as it stands, C99's and C23's behind a prefix.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

#include "model/front/pthread/real.h"

namespace syncopate::instrument {

// A function's three names, and where each was found.
struct scan_names {
  const char* of_lists[3];
  std::atomic<void*> slots[3];
};
#define SYNCOPATE_SCAN_NAMES(function)                            \
  ::syncopate::instrument::scan_names {                           \
    {#function, "__isoc99_" #function, "__isoc23_" #function}, {} \
  }

// `called` is the name by which the program asked for a scan.
template <class Function>
Function* real_scan(scan_names& names, const char* called) {
  const std::size_t form = std::strncmp(called, "__isoc99_", 9) == 0   ? 1
                           : std::strncmp(called, "__isoc23_", 9) == 0 ? 2
                                                                       : 0;
  return find_real<Function>(names.slots[form], names.of_lists[form], nullptr);
}

}  // namespace syncopate::instrument
