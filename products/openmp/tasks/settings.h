// settings.h -- what a task inherits of the one that makes it (OpenMP's internal control variables)
// as far as a program can change it.
#pragma once

#include "openmp/base/entry_points.h"

namespace syncopate::openmp {

struct settings {
  int threads, dynamic, levels, limit, device, schedule, chunk;
  friend bool operator==(const settings&, const settings&) = default;
};

// Whether the runtime has all functions that tell and change them.
bool has_settings(const entry_points& real) noexcept;
// Of the calling thread's task.
settings settings_of(const entry_points& real) noexcept;
void apply(const settings& wanted, const entry_points& real) noexcept;

}  // namespace syncopate::openmp
