// Catching in a transaction what was thrown there; and canceling or beginning again in the middle
// of a handler.
// Stock: fails
#include "check.h"

#include <exception>
#include <thread>
#include <vector>

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

long caught, tries;

[[gnu::transaction_safe, gnu::noinline]] void may_throw(long n) {
  if (n % 2 == 0) throw n;
}

void inside(int rounds) {
  for (long i = 0; i < rounds; ++i) {
    __transaction_atomic {
      ++tries;
      try {
        may_throw(i);
      } catch (long) {
        ++caught;
      }
    }
    CHECK(std::uncaught_exceptions() == 0);
  }
}

void cancel_in_handler() {
  long before = caught;
  __transaction_atomic {
    try {
      may_throw(0);
    } catch (long) {
      ++caught;
      if (true_now()) __transaction_cancel;
    }
  }
  CHECK(caught == before);
  CHECK(std::uncaught_exceptions() == 0);
  CHECK(std::current_exception() == nullptr);
}

}  // namespace

int main() {
  inside(100);
  CHECK(tries == 100 && caught == 50);
  for (int i = 0; i < 10; ++i) cancel_in_handler();
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(inside, 2000);
  for (auto& t : all) t.join();
  CHECK(tries == 6100 && caught == 3050);
}
