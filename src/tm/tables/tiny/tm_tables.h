// tm_tables.h -- tables for the explored machine, which puts all memory back between two
// executions; what is 32 KiB apart shares a record.
#pragma once

#include <cstddef>

namespace syncopate::tm {

inline constexpr std::size_t record_count = 1u << 10;

}  // namespace syncopate::tm
