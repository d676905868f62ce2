// Exceptions that leave transactions, which commit then, from several threads at once.
#include "check.h"

#include <exception>
#include <thread>
#include <vector>

namespace {

struct error {
  long value;
};

long total, thrown;

[[gnu::transaction_safe, gnu::noinline]] void add(long amount) {
  total += amount;
  if (amount % 3 == 0) throw error{amount};
}

void work(unsigned number) {
  dice roll(number);
  for (int i = 0; i < 5000; ++i) {
    const long amount = roll(9);
    bool caught = false;
    try {
      __transaction_atomic {
        ++thrown;
        add(amount);
        --thrown;
      }
    } catch (const error& e) {
      caught = true;
      CHECK(e.value == amount);
    }
    CHECK(caught == (amount % 3 == 0));
    CHECK(std::uncaught_exceptions() == 0);
    __transaction_atomic {
      total -= amount;
      if (caught) --thrown;
    }
  }
}

}  // namespace

int main() {
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(work, i);
  for (auto& t : all) t.join();
  CHECK(total == 0 && thrown == 0);
}
