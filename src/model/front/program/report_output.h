// report_output.h -- where the reports of the machines go: what SYNCOPATE_STATS says.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace syncopate::report {

// What is standard error now is what reports are for: a program may close it, or put another file
// in its place, before it ends, as all do that see at their end whether their output was written.
void keep_standard_error();

// Makes descriptor 2 again what was kept.
// Returns: whether it is that; not where the program has closed what was kept, too.
bool show_standard_error();

// Whether the variable's value asks for JSON.
bool is_json(std::string_view wanted);

// 1: tables to standard error, if that is what was kept; json: JSON there; FILE.json, FILE.txt:
// files.
// Returns: whether it was written; says so when a file cannot be.
bool write(std::string_view wanted, const std::function<std::string()>& json,
           const std::function<std::string()>& text);

}  // namespace syncopate::report
