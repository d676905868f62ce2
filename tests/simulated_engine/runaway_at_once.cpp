// A run that is stopped before all of its threads have begun.
// run: SYNCOPATE_MACHINE=test-4c SYNCOPATE_LIMIT=1
#include <syncopate/machine.h>

#include <cstdio>
#include <thread>

int main() {
  std::thread late([] { std::puts("never"); });
  for (;;) syncopate::machine::spin(500'000'000);
}
