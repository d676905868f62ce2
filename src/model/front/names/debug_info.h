// debug_info.h -- the program's own symbols and DWARF, read in the running process.
#pragma once

#include "names.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::instrument {

// The function at `pc` and those it was inlined into, innermost first; without DWARF one frame with
// the symbol's or the module's name; empty where no module is.
std::vector<source_position> frames_at(std::uintptr_t pc);

// The demangled symbol of the function that begins at `entry`; empty where none does.
std::string function_symbol(std::uintptr_t entry);

struct variable {
  std::string name;  // empty: none
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
  std::string member;      // path to the member at the address: ".head[2].lock_"
  std::size_t offset = 0;  // from the member's start, else the variable's
};

// How many libraries the program has loaded so far; those that are unloaded count, too.
unsigned long long libraries_loaded();

// The static variable that holds the address.
variable variable_at(std::uintptr_t address);

// The thread_local variable that holds the address in a thread whose thread pointer is
// `thread_pointer`.
variable thread_local_at(std::uintptr_t address, std::uintptr_t thread_pointer);

}  // namespace syncopate::instrument
