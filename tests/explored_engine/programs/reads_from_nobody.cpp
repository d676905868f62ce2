// Reads from a pipe of its own that nobody writes to.
// Expect: 1 failed: deadlock
#include <unistd.h>

int main() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  char c;
  return read(ends[0], &c, 1) == 0 ? 0 : 1;
}
