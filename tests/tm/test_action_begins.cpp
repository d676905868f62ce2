// A commit action that runs a transaction, which has a commit action of its own.
// Stock: fails
#include "check.h"

#include <cstdint>

extern "C" [[gnu::transaction_pure]] void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t,
                                                                   void*);

namespace {

long x;
int actions;

void second(void*) { ++actions; }
[[gnu::transaction_pure]] void add_second() { _ITM_addUserCommitAction(second, 1, nullptr); }
void first(void*) {
  ++actions;
  __transaction_atomic {
    ++x;
    add_second();
  }
}
[[gnu::transaction_pure]] void add_first() { _ITM_addUserCommitAction(first, 1, nullptr); }

}  // namespace

int main() {
  for (int i = 1; i <= 5; ++i) {
    __transaction_atomic {
      ++x;
      add_first();
    }
    CHECK(x == 2 * i && actions == 2 * i);
  }
}
