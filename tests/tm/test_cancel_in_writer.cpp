// Stock: fails
// A transaction that cannot be canceled, and always writes, so that an algorithm may have it write
// from its beginning; and one inside of it that is canceled, beside a thread that looks.
#include <atomic>
#include <string>
#include <thread>

#include "check.h"

extern "C" [[gnu::transaction_pure]] unsigned _ITM_inTransaction();

namespace {

constexpr int rounds = 100000;
long outer, inner, twice;
std::atomic<int> seen_alone{0};
std::atomic<bool> done{false};

[[gnu::transaction_pure, gnu::noinline]] void look_how() {
  if (_ITM_inTransaction() == 2) seen_alone.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::transaction_safe, gnu::noinline]] void try_in_vain() {
  __transaction_atomic {
    ++inner;
    outer = -1;
    void* const lost = std::malloc(64);
    std::free(lost);
    if (inner > 0) __transaction_cancel;
  }
}

[[gnu::noinline]] void nest() {
  __transaction_atomic {
    ++outer;
    look_how();
    try_in_vain();
    twice = 2 * outer;
  }
}

void look() {
  while (!done) {
    bool right = false;
    __transaction_atomic { right = inner == 0 && twice == 2 * outer; }
    CHECK(right);
  }
}

}  // namespace

int main() {
  std::thread reader(look);
  for (int i = 0; i < rounds; ++i) nest();
  done = true;
  reader.join();
  CHECK(outer == rounds && inner == 0 && twice == 2 * rounds);
  const char* const choice = std::getenv("SYNCOPATE_TM");
  if (choice != nullptr && std::string(choice) == "eager_norec") CHECK(seen_alone > rounds / 2);
}
