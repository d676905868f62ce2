// report_output.h -- where the reports of the machines go: what SYNCOPATE_STATS says.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace syncopate::report {

// What is standard error now is what reports are for: a program may close it, or put another file
// in its place, before it ends, as all do that see at their end whether their output was written.
// And this process is now the one that files are named for.
void keep_standard_error();

// Where this process writes the file that the user has named: there; a child of fork(), which has a
// report of its own, beside it, with its number before the name's end ("report.4711.json").
// Devices stay what they are.
std::string file_of_process(const std::string& named);

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
