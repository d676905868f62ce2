// no_calibrate.cpp -- in place of calibrate.cpp where there is no hwloc (SYNCOPATE_PORTABLE).
#include <cstdio>
#include <cstdlib>

#include "calibrate.h"

namespace syncopate::tools {

std::string calibrate_json(double) {
  std::fputs(
      "syncopate-native: this build cannot calibrate, since it was made to run without hwloc;"
      " build Syncopate on this machine\n",
      stderr);
  std::exit(1);
}

}  // namespace syncopate::tools
