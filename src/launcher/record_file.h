// record_file.h -- the file that `record` makes room for, and completes.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/recording.h"

namespace syncopate::launcher {

// Moves an older record aside and proves that one can be made there. Returns: whether all was
// plain; if not, the Python command can still do it, and say what stands in the way.
bool make_room(const std::string& record);

// Writes into the record when its process ended, and what it used. Returns: whether the record is
// one process's whole one, with no other beside it; where it is not, nothing was written.
bool complete(const std::string& record, const child& ended);

}  // namespace syncopate::launcher
