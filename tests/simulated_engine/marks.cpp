// Statistics: marks, activities, energy, the same in every run.
// run: SYNCOPATE_MACHINE=test-4c SYNCOPATE_QUIET=0
#include <syncopate/machine.h>

#include <cstdint>
#include <cstdio>

#include "together.h"

extern "C" void syncopate_mark(const char* name, std::uint64_t count);

int main() {
  const std::uint64_t cycles = run_together(3, [](unsigned me) {
    for (unsigned i = 0; i < 10 * (me + 1); ++i) {
      syncopate::machine::spin(100);
      syncopate_mark("operations", 1);
    }
  });
  std::printf("%s\n", cycles >= 30 * 100 * 10 ? "thirty times a hundred pauses" : "too fast");
}
