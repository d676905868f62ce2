// safe_functions.h -- which functions of other libraries a transaction may call: those that
// change nothing but their own frame, what the machine saves (errno, control words, the list of
// caught exceptions) or memory that was allocated in the transaction.
#pragma once

namespace syncopate::emulated {

bool is_safe_function(const char* symbol) noexcept;
// Those that write a buffer of a jump and return: the buffer is logged first.
bool writes_jump_buffer(const char* symbol) noexcept;
// A library all of whose functions are safe, by its file's name.
bool is_safe_library(const char* path) noexcept;

}  // namespace syncopate::emulated
