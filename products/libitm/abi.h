// abi.h -- how the functions of GCC's transactional-memory interface are declared here.
//
// Source        "Intel Transactional Memory Compiler and Runtime Application Binary Interface",
//               revision 1.1, 2009, and GCC's additions to it.
#pragma once

#include "tm/core/engine.h"
#include "tm/core/threads.h"

#define SYNCOPATE_ITM extern "C" [[gnu::visibility("default")]]

namespace syncopate::tm {

// Copies plain memory into an exception that the transaction has allocated, straight: what it is
// made of is no other thread's. Returns whether `to` lies in one (exceptions.cpp).
[[nodiscard]] bool copy_to_exception(transaction* tx, void* to, const void* from,
                                     std::size_t size) noexcept;

}  // namespace syncopate::tm
