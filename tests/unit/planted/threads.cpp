// threads.cpp -- two threads take the lock twice each; what is counted is exact.
#include "anderson_lock.h"

#include <thread>

constexpr int rounds = 2;
syncopate::anderson_lock<> lock;
int count = 0;

void add() {
  for (int i = 0; i < rounds; ++i) {
    if (i == 1 && lock.try_lock()) {
      ++count;
    } else {
      lock.lock();
      ++count;
    }
    lock.unlock();
  }
}

int main() {
  std::thread other(add);
  add();
  other.join();
  return count == 2 * rounds && !lock.is_locked() ? 0 : 1;
}
