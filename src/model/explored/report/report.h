// report.h -- a verdict in words: one line, the failing execution as a table, JSON.
#pragma once

#include "model/explored/run/options.h"
#include "verdict.h"

#include <string>

namespace syncopate::explored {

// "lock<A, B>::lock" without what stands in angle brackets.
std::string without_arguments(const std::string& name);

// One line: "syncopate: explored: passed: 1,234 executions ..." and the limit if it is bounded.
// weakened: as it stands in the line (sites.h).
std::string summary(const verdict&, const options&, const std::string& weakened = {});

// What has kept a search from its end, and what helps; empty where nothing is known to.
std::string advice(const verdict&, const options&);

// The failure, every step of the execution that led to it, what each thread was about to do, and
// the environment variable that repeats it.
std::string describe(const failure&, std::size_t most_steps = 400);

// One JSON object. weakened: the site that SYNCOPATE_WEAKEN made relaxed, or empty.
std::string as_json(const verdict&, const options&, const std::string& weakened);

}  // namespace syncopate::explored
