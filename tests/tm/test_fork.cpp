// Processes that fork while other threads run transactions: parent and child go on.
// Stock: fails
#include "check.h"

#include <atomic>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

long x, y;
std::atomic<bool> stop{false};

void bump(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    long difference = 0;
    __transaction_atomic {
      ++x;
      ++y;
      difference = x - y;
    }
    CHECK(difference == 0);
  }
}
void in_background() {
  while (!stop) bump(100);
}

}  // namespace

int main() {
  std::vector<std::thread> all;
  for (int i = 0; i < 2; ++i) all.emplace_back(in_background);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      std::thread another(bump, 500);
      bump(500);
      another.join();
      CHECK(x == y);
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    bump(100);
  }
  stop = true;
  for (auto& t : all) t.join();
  CHECK(x == y);
}
