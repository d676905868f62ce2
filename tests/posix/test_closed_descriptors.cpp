// test_closed_descriptors.cpp -- a daemon that closes every descriptor, then locks under
// contention.
#include <sys/stat.h>

#include "contention.h"

namespace {

void close_all() {
  for (int descriptor = 0; descriptor < 1024; ++descriptor) close(descriptor);
}

int open_descriptors() {
  struct stat about;
  int count = 0;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) count += fstat(descriptor, &about) == 0;
  return count;
}

}  // namespace

int main() {
  check_begin();
  const pid_t child = check_fork();
  if (child == 0) {
    check_state->quiet = 1;
    contend_after(4, 500, close_all);
    // Nobody opened anything meanwhile: a daemon's next open must give descriptor 0.
    CHECK_EQ(open_descriptors(), 0);
    CHECK_EQ(dup(0), -1);
    _exit(0);
  }
  CHECK_CHILD(child);
  check_state->quiet = 0;
  return check_end();
}
