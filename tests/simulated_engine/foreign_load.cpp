// Other programs' load takes processors away: as much time as it is given, the same on every run.
// run: SYNCOPATE_MACHINE=test-4c SYNCOPATE_FOREIGN_LOAD=4 SYNCOPATE_FOREIGN_BUSY=100
// run: SYNCOPATE_FOREIGN_REST=100
#include <syncopate/machine.h>

#include <cstdio>

#include "together.h"

int main() {
  constexpr unsigned steps = 200'000;
  const std::uint64_t cycles = run_together(4, [](unsigned) {
    for (unsigned i = 0; i < steps / 100; ++i) syncopate::machine::spin(100);
  });
  const double alone = steps * 10.0;  // of relax_cycles
  const double longer = static_cast<double>(cycles) / alone;
  std::printf("4 threads beside a load of one half on 4 processors: %s\n",
              longer > 1.3 && longer < 2.2 ? "about half as much again, or more" : "no such time");
}
