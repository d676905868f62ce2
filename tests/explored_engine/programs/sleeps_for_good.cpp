// Waits in the system for what never comes: the machine sees nothing of that.
// Options: seconds=1
// Expect: 3 bounded: .*limit: time
#include <unistd.h>

int main() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  char c;
  return read(ends[0], &c, 1) == 0 ? 0 : 1;
}
