// test_chroot.cpp -- locking, and making threads, in an empty root.
#include <sched.h>

#include "contention.h"

namespace {

enum Entered { in_old_root, as_root, in_user_namespace };

// Root may chroot at once; others in a user namespace of their own, where the kernel allows that.
Entered enter(const char* folder) {
  Entered how = as_root;
  if (chroot(folder) != 0) {
    if (unshare(CLONE_NEWUSER) != 0 || chroot(folder) != 0) return in_old_root;
    how = in_user_namespace;
  }
  return chdir("/") == 0 ? how : in_old_root;
}

}  // namespace

int main() {
  check_begin();
  const char* parent = getenv("TMPDIR");
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/posix-chroot-XXXXXX", parent != nullptr ? parent : "/tmp");
  MUST(mkdtemp(folder) != nullptr);
  auto* entered = static_cast<int*>(shared_memory(sizeof(int)));
  const pid_t child = check_fork();
  if (child == 0) {
    // A user namespace needs a process with a single thread, so the root changes first.
    *entered = enter(folder);
    if (*entered != in_old_root) CHECK_EQ(access("/proc", F_OK), -1);
    contend_after(4, 500, [] {});
    _exit(0);
  }
  CHECK_CHILD(child);
  CHECK_EQ(rmdir(folder), 0);
  const char* const how[] = {"the old root (chroot not permitted)", "an empty root, as root",
                             "an empty root, in a user namespace"};
  printf("contended in %s\n", how[*entered]);
  fflush(stdout);
  return check_end();
}
