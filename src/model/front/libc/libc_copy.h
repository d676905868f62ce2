// libc_copy.h -- the C library's own copy functions, under names that are not the program's.
// Before they are found at start-up plain loops stand in: the loader's and the machine's first
// calls come that early.
#pragma once

#include <cstddef>

namespace syncopate::instrument {

extern void* (*real_memcpy)(void* to, const void* from, std::size_t n);
extern void* (*real_memmove)(void* to, const void* from, std::size_t n);
extern void* (*real_memset)(void* to, int byte, std::size_t n);

}  // namespace syncopate::instrument
