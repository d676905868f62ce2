// Relaxed transactions that call unsafe functions in the middle, next to atomic ones.
#include "check.h"

#include <cstring>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

constexpr int threads = 4, rounds = 3000;
long x, y, unsafe_calls;

[[gnu::noinline]] void unsafe_call() {
  // Nobody else runs: x and y cannot move.
  volatile long* const px = &x;
  const long before = *px;
  (void)getppid();
  CHECK(*px == before);
  ++unsafe_calls;
}

void work(unsigned number) {
  dice roll(number);
  for (int i = 0; i < rounds; ++i) {
    if (roll(8) == 0) {
      __transaction_relaxed {
        ++x;
        if (x % 2 == 0) unsafe_call();
        ++y;
      }
    } else {
      long seen_x = 0, seen_y = 0;
      __transaction_atomic {
        ++x, ++y;
        seen_x = x, seen_y = y;
      }
      CHECK(seen_x == seen_y);
    }
  }
}

// Through a pointer: to a function that has a clone, and to one that has none.
[[gnu::noinline, gnu::transaction_safe]] void has_clone() { ++x; }
void (*volatile callee)();
[[maybe_unused, gnu::transaction_pure]] void (*get_callee())() { return callee; }

void through_pointer() {
  const long before = x, calls = unsafe_calls;
  callee = has_clone;
  __transaction_relaxed {
    ++y;
    callee();
  }
  callee = unsafe_call;
  __transaction_relaxed {
    ++y;
    callee();
  }
  CHECK(x == before + 1 && unsafe_calls == calls + 1);
}

}  // namespace

int main() {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work, i);
  for (auto& t : all) t.join();
  CHECK(x == threads * rounds && x == y);
  through_pointer();
}
