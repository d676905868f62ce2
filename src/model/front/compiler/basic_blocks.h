// basic_blocks.h -- counts the basic blocks that the program runs between two calls of its machine:
// for loops that touch no memory, which otherwise would take no time.
#pragma once

#include <cstdint>

namespace syncopate::instrument {

// What an access costs includes the instructions around it: so many blocks.
inline constexpr std::int64_t blocks_of_an_access = 16;

// How many more the thread may run until they cost something; below 0: how many did. The machine
// that charges them sets it anew in each of its calls. All fibers share one OS thread.
inline constinit std::int64_t blocks_left = blocks_of_an_access;

}  // namespace syncopate::instrument
