// report_output.h -- where the reports of the machines go: what SYNCOPATE_STATS says.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace syncopate::report {

// Whether the variable's value asks for JSON.
bool is_json(std::string_view wanted);

// 1: tables to standard error; json: JSON there; FILE.json, FILE.txt: files. Says so when a file
// cannot be written.
void write(std::string_view wanted, const std::function<std::string()>& json,
           const std::function<std::string()>& text);

void write_file(const char* path, std::string_view text);

}  // namespace syncopate::report
