// report_names.h -- L0: what the reports call lines and threads.
#pragma once

#include "statistics.h"

#include <string>

namespace syncopate::simulated {

// The variables in a line, or that it is the kernel's.
std::string line_name(std::uintptr_t address, std::uint64_t line_bytes);

// The word that was waited for, or what it means when it is the runtime's own.
std::string wait_name(std::uintptr_t address);

// The function that a thread ran, or where it was made when that is only the runtime's own; "main",
// "thread" when nothing is known.
std::string thread_name(const thread_statistics&);

// At most `most` characters: the middle gives way.
std::string shortened(const std::string& name, std::size_t most = 60);

}  // namespace syncopate::simulated
