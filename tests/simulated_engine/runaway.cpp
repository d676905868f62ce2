// A program that never ends is stopped at the limit.
// run: SYNCOPATE_MACHINE=test-4c SYNCOPATE_LIMIT=1
#include <syncopate/machine.h>

int main() {
  for (;;) syncopate::machine::spin(1'000'000);
}
