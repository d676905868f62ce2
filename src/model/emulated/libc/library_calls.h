// library_calls.h -- calls of code that is not instrumented end transactions: the machine could
// not roll back what such code writes, nor see what it reads.
//
// The entries of the global offset table through which instrumented modules call other ones are
// made to point to small pieces of code that abort the running transaction, if there is one, and
// jump to the function. Left alone are instrumented modules, this library, and the functions of
// safe_functions.h. Calls through pointers that other modules hold are not seen; a system call ends
// the transaction even so.
#pragma once

#include <cstdint>

namespace syncopate::emulated {

// Redirects the calls of all instrumented modules that have not been looked at yet.
void redirect_library_calls() noexcept;

// Whether the machine sees what the code there accesses: of an instrumented module, or this
// library.
bool is_seen_code(std::uintptr_t address) noexcept;
bool is_own_code(std::uintptr_t address) noexcept;

}  // namespace syncopate::emulated
