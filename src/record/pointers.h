// pointers.h -- which variables lead to recorded objects: an array of locks on the heap has no name
// but that of the pointer to it.
#pragma once

#include "record/internal.h"

namespace syncopate::record {

// A line
//   pointers TICKS
// of when that was, and of each word in the writable data of a module that points to a recorded
// object, or to at most 4,096 bytes before one, a line
//   pointer AT VALUE
// all hexadecimal. `text` is as in /proc/self/maps, without most of its anonymous lines. Returns
// the bytes written to `to`; what finds no room there, and what lies behind the first `most_data`
// bytes of data, whole pages, is left out.
std::size_t describe_pointers(const char* text, std::size_t bytes, char* to, std::size_t room,
                              std::uint64_t most_data) noexcept;

}  // namespace syncopate::record
