#include "tm/adaptive.h"

#include "tm/configuration.h"
#include "tm/engine.h"

#include <cstdio>

namespace syncopate::tm {

constinit bool adaptive::on = false;

void print_statistics() noexcept {
  const statistics sum = add_statistics();
  u64 restarts = 0;
  for (u64 r : sum.restarts) restarts += r;
  std::fprintf(stderr,
               "syncopate tm: algorithm=%s commits=%llu alone=%llu restarts=%llu read=%llu "
               "write=%llu commit=%llu unsafe=%llu\n",
               algorithm_name(), static_cast<unsigned long long>(sum.commits),
               static_cast<unsigned long long>(sum.alone), static_cast<unsigned long long>(restarts),
               static_cast<unsigned long long>(sum.restarts[0]),
               static_cast<unsigned long long>(sum.restarts[1]),
               static_cast<unsigned long long>(sum.restarts[2]),
               static_cast<unsigned long long>(sum.restarts[4]));
}

}  // namespace syncopate::tm
