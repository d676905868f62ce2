// program.h -- which program is meant, and whether a preload library acts on it without more ado.
#pragma once

#include <string>

#include "launcher/environment.h"

namespace syncopate::launcher {

// Finds a program as execvp() does. Returns: its path; "" where there is none, which the Python
// command tells.
std::string find_program(const std::string& name, const environment& environment);

// Whether the loader will put a library of ours into `path`, or into the interpreter that its #!
// line names, and nothing else is to be done for it: a dynamic program of this architecture and
// glibc, with no more rights than we have and no sanitizer. False also where that is not certain:
// the Python command looks closer.
bool is_plain_program(const std::string& path, const environment& environment);

// Whether the file is called as Java's launcher is.
bool may_be_java(const std::string& path);

// An absolute path with no "", "." or ".." in it, of a path that has none; else "".
std::string plain_path(std::string_view path);

}  // namespace syncopate::launcher
