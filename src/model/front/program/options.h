// options.h -- the environment variables SYNCOPATE_*, and how the runtime gives up.
#pragma once

#include <cstdint>

namespace syncopate::instrument {

// The variable's value; null when it is not set or empty. `name` without "SYNCOPATE_".
const char* option(const char* name) noexcept;

// Whether the variable is set to something other than 0, no, off and false.
bool option_enabled(const char* name) noexcept;

// The variable's value as a decimal number; `otherwise` when it is not set. Ends the process with
// one line when it is no number, or none from `smallest` to `largest`.
std::uint64_t option_number(const char* name, std::uint64_t otherwise,
                            std::uint64_t largest = UINT64_MAX,
                            std::uint64_t smallest = 0) noexcept;

// Writes "syncopate: ..." as one line to standard error and ends the process with status 2 at once:
// no handlers, no flushed streams. Allocates nothing.
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...) noexcept;

// The line alone.
[[gnu::format(printf, 1, 2)]] void complain(const char* format, ...) noexcept;

}  // namespace syncopate::instrument
