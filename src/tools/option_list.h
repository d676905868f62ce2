// option_list.h -- base/options.def as JSON: what build/share/syncopate/options.json holds.
#pragma once

#include <string>

namespace syncopate::tools {

// Returns a JSON object: "options", an array with one object per environment variable, in the
// table's order, and "names", the names of other kinds.
[[nodiscard]] std::string option_list_json();

}  // namespace syncopate::tools
