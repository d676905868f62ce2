// tm_tables.h -- how large the tables are that addresses share. The include path chooses.
#pragma once

#include <cstddef>

namespace syncopate::tm {

// Ownership records (orecs.h) and locks (two_phase.cpp): 8 MiB each; untouched pages are free.
inline constexpr std::size_t record_count = 1u << 20;

}  // namespace syncopate::tm
