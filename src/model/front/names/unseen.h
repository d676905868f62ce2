// unseen.h -- what the compilers wrote down of the program that no machine sees.
#pragma once

#include <string>
#include <vector>

namespace syncopate::instrument {

struct unseen {
  std::vector<std::string> assembly;  // where it stands, if it may touch memory: "queue.c:12"
  std::vector<std::string> calls;     // functions of the C library whose writes nobody knows of
  bool optimized = false;             // some file was compiled with optimization
  bool structs = false;  // some file was compiled without the plugin that shows those in calls
};

// Of the executable and of the libraries that were compiled for a machine; at the end of a run.
unseen what_is_unseen();

}  // namespace syncopate::instrument
