// claim.h -- that one `record` at a time writes a file.
#pragma once

#include <string>

namespace syncopate::launcher {

// Keeps the record for this process: another `record` that would write the same file, by whatever
// path, does not begin meanwhile (syncopate/commands/recordplace.py does the same). Returns a
// descriptor that is to stay open until the record is whole, closed by exec; -1 where another
// process keeps it, or where that cannot be told.
int claim(const std::string& record);

// Leaves it open across the next exec.
void keep_claim(int descriptor);

}  // namespace syncopate::launcher
