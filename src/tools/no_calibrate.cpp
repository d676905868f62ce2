// no_calibrate.cpp -- in place of calibrate.cpp where there is no hwloc.
#include <cstdio>
#include <cstdlib>

#include "calibrate.h"

namespace syncopate::tools {

std::string calibrate_json(double) {
  std::fputs(
      "syncopate-native: this build cannot calibrate, since it was made without hwloc (Debian "
      "package"
      " libhwloc-dev); build Syncopate with it on this machine\n",
      stderr);
  std::exit(1);
}

}  // namespace syncopate::tools
