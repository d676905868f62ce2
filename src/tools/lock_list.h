// lock_list.h -- the list of locks as JSON: what build/share/syncopate/locks.json holds.
#pragma once

#include <string>

namespace syncopate::tools {

// Returns a JSON array with one object per algorithm, in the order of locks/all.h.
[[nodiscard]] std::string lock_list_json();

}  // namespace syncopate::tools
