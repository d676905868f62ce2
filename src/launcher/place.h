// place.h -- where this installation is, and the Python command in it.
#pragma once

#include <string>
#include <vector>

namespace syncopate::launcher {

struct place {
  std::string prefix;   // has lib/ with the libraries; "" where they are not beside this program
  std::string command;  // starts the Python command; "" where it is not there
  // Starts it, too, where `command` would obey the PYTHON* variables, which are the program's.
  std::vector<std::string> instead;
};

// Found from where this program lies.
place find_place();

// The Python command in place of this process. Returns when it cannot be started.
void become_python(const place& at, char** words);

}  // namespace syncopate::launcher
