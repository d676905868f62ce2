// library_calls.h -- calls of code that is not instrumented end transactions: the machine could
// not roll back what such code writes, nor see what it reads.
//
// The entries of the global offset table through which instrumented modules call other ones are
// made to point to small pieces of code that abort the running transaction, if there is one, and
// jump to the function. Left alone are instrumented modules, this library, and the functions of
// safe_functions.h. Calls through pointers that other modules hold are not seen; a system call ends
// the transaction even so.
//
// What the foreign code does after a call back into the program is not seen either: a transaction
// that was begun in the call and goes on after it (an interpreter's) would not take it back. So it
// is remembered where the outermost call of foreign code is waited for.
#pragma once

#include <cstdint>

namespace syncopate::emulated {

// Redirects the calls of all instrumented modules that have not been looked at yet.
void redirect_library_calls() noexcept;

// Whether the machine sees what the code there accesses: of an instrumented module, or this
// library.
bool is_seen_code(std::uintptr_t address) noexcept;
bool is_own_code(std::uintptr_t address) noexcept;

// The outermost call of foreign code, of the calling thread, that may not have returned: as long as
// its return address lies where it did. Calls outside of the stack's bounds are not noted.
struct foreign_call {
  std::uintptr_t at;  // where its return address lies
  std::uintptr_t return_address;
  std::uintptr_t stack_low, stack_bytes;
};
extern "C" {
[[gnu::visibility("hidden"),
  gnu::tls_model("initial-exec")]] extern thread_local constinit foreign_call
    syncopate_emulated_outermost_call;
}

// Whether the code that the frame belongs to, which is seen and has linked frames, was called by
// foreign code that will go on when it returns.
bool is_called_back(const std::uintptr_t* frame) noexcept;

}  // namespace syncopate::emulated
