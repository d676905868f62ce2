// report_names.h -- what the reports call lines and threads.
#pragma once

#include "base/text_table.h"
#include "statistics.h"

#include <string>

namespace syncopate::simulated {

using report::shortened;

// The variables in a line, or that it is the kernel's.
std::string line_name(std::uintptr_t address, std::uint64_t line_bytes);

// The word that was waited for, or what it means when it is the runtime's own.
std::string wait_name(std::uintptr_t address);

// The function that a thread ran, or where it was made when that is only the runtime's own; "main",
// "thread" when nothing is known.
std::string thread_name(const thread_statistics&);

}  // namespace syncopate::simulated
