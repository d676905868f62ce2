// code_names.h -- functions' names for reports, out of the symbol tables in modules' files.
//
// For reports from anywhere, as guard_log.h has them: nothing here allocates, takes a lock or calls
// the dynamic linker; files are looked into by system calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::shim {

// Writes the name of the function at a link-time address of an ELF file, as a text of at most
// `room` bytes with its end; of simple C++ names what they say ("Map::get"), else as the linker
// knows it. Returns false where the file cannot be read or names nothing there.
bool find_code_name(const char* file, std::uint64_t at, char* name, std::size_t room) noexcept;

// "Map::get" of "_ZN3Map3getEv": plain names in plain scopes, without arguments. Anything else,
// also templates, is copied as it is.
void copy_readable(const char* symbol, char* name, std::size_t room) noexcept;

}  // namespace syncopate::shim
