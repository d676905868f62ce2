// abi.h -- how the functions of GCC's transactional-memory interface are declared here.
//
// Source        "Intel Transactional Memory Compiler and Runtime Application Binary Interface",
//               revision 1.1, 2009, and GCC's additions to it.
#pragma once

#include "tm/core/engine.h"
#include "tm/core/threads.h"

#define SYNCOPATE_ITM extern "C" [[gnu::visibility("default")]]
