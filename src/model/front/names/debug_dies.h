// debug_dies.h -- the parts of reading DWARF that debug_info.cpp and debug_variables.cpp share.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace syncopate::instrument {

// The module that has the address loaded, or null. Looks again once when a library was loaded
// since the last look.
Dwfl_Module* module_at(std::uintptr_t address);

// DW_AT_name, or "".
std::string die_name(Dwarf_Die* die);

// With the namespaces and classes around it: "syncopate::ticket_lock::lock". Lambdas are
// "main::lambda".
std::string qualified_name(Dwarf_Die* die);

std::string demangled(const char* symbol);

struct static_variable {
  Dwarf_Die die;
  std::uintptr_t start;  // address; offset in the module's thread-local block for thread_locals
};
// The variable of a module that has DWARF: the one that starts nearest below `address`.
std::optional<static_variable> variable_below(Dwfl_Module*, std::uintptr_t address,
                                              bool is_thread_local);

// The bytes of a variable's or member's type; 0 when unknown.
std::size_t bytes_of(Dwarf_Die* of);

// The path from a variable to the member at `offset`, which becomes the offset in that member.
// Stops at the standard library's types: their members' names tell a reader nothing.
std::string member_path(Dwarf_Die* variable, std::size_t& offset);

}  // namespace syncopate::instrument
