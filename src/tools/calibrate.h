// calibrate.h -- measures on this machine what a machine description needs (`syncopate calibrate`).
#pragma once

#include <string>

namespace syncopate::tools {

// Measures for about `seconds` and returns JSON: {"processor": ..., "topology": {...}, "caches":
// [...], "measured": [{"name", "unit", "value", "low", "high", "runs"}]}. `value` is the median of
// the runs, low and high the quartiles. Latencies in cycles of the time stamp counter. Blocking;
// moves its threads between processors. Progress goes to standard error.
[[nodiscard]] std::string calibrate_json(double seconds);

}  // namespace syncopate::tools
