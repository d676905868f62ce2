// report_output.h -- where the reports of the machines go: what SYNCOPATE_STATS says.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace syncopate::report {

// Whether the variable's value asks for JSON.
bool is_json(std::string_view wanted);

// 1: tables to standard error; json: JSON there; FILE.json, FILE.txt: files.
// Returns: whether it was written; says so when a file cannot be.
bool write(std::string_view wanted, const std::function<std::string()>& json,
           const std::function<std::string()>& text);

}  // namespace syncopate::report
