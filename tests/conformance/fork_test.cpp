// The child of a fork by a lock's holder, where others wait: which locks come free there (lock.h).
#include <chrono>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <syncopate/locks/all.h>
#include <syncopate/rwlocks/auto_rwlock.h>

#include "support.h"

namespace {

using namespace conformance;
using namespace syncopate;

// The status of a child that releases what its parent holds, and then uses it.
template <class Lock>
int release_in_child(Lock& lock) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    lock.unlock();
    for (int i = 0; i < 3; ++i) {
      if (!lock.try_lock()) ::_exit(1);
      lock.unlock();
      lock.lock();
      lock.unlock();
    }
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

template <class Lock>
void comes_free_in_child(const std::string& name) {
  Lock lock;
  lock.lock();
  on_threads(4, [&](int i) {
    if (i != 0) {
      lock.lock();
      lock.unlock();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(release_in_child(lock), 0) << name;
    lock.unlock();
  });
}

bool is_named(std::string_view name) {
  return name == "auto" || name == "futex" || name.ends_with("tatas") || name.starts_with("htm_") ||
         name == "elided_auto";
}

TEST(Fork, LocksThatTheContractNamesComeFreeInTheChild) {
  int seen = 0;
  for_each_lock([&]<class Lock>(const lock_entry<Lock>& entry) {
    if (!is_named(entry.name)) return;
    ++seen;
    comes_free_in_child<Lock>(std::string(entry.name) + ':' + std::string(entry.wait));
  });
  EXPECT_EQ(seen, 13);
  comes_free_in_child<auto_rwlock>("auto_rwlock");
}

}  // namespace
