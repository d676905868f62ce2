// whole_file.h -- files that are there as a whole, or as they were; as syncopate/base/wholefile.py
// has them.
#pragma once

#include <string>
#include <string_view>

namespace syncopate::instrument {

// Writes the text beside `path` and lets it take the place. A device, a pipe or what a stream of
// this process is stays what it is: it is written to.
// Returns: whether all was written; else one line on standard error says why not, and a file that
// was there is as it was. A symbolic link is refused: somebody else may have put it there.
bool write_whole_file(const std::string& path, std::string_view text);

}  // namespace syncopate::instrument
