// What GCC's libitm gets wrong: an increment before a cancel, and an inner transaction that writes
// what the outer one has written.
// Stock: fails
#include "check.h"

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

long x, y;

void increment() {
  x = 1;
  __transaction_atomic {
    x++;
    if (true_now()) __transaction_cancel;
  }
  CHECK(x == 1);
}

void write_after_write() {
  x = y = 0;
  __transaction_atomic {
    x = 1;
    y = 1;
    __transaction_atomic {
      x = 2;
      x = 3;
      y++;
      if (true_now()) __transaction_cancel;
    }
    y += 10;
  }
  CHECK(x == 1 && y == 11);
}

}  // namespace

int main() {
  for (int round = 0; round < 3; ++round) increment(), write_after_write();
}
