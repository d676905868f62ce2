// Waits in the system for what never comes, by a system call of its own: the machine sees nothing
// of that.
// Options: seconds=1
// Expect: 3 bounded: .*limit: time
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  char c;
  return syscall(SYS_read, ends[0], &c, 1) == 0 ? 0 : 1;
}
