// Transfers between accounts, with audits inside transactions: the sum never differs, not even for
// a transaction that is going to roll back.
#include "check.h"

#include <thread>
#include <vector>

namespace {

constexpr int accounts = 64, threads = 4, rounds = 60000;
constexpr long each = 1000;
long balance[accounts];

void work(unsigned number) {
  dice roll(number);
  for (int i = 0; i < rounds; ++i) {
    const unsigned from = roll(accounts), to = roll(accounts);
    const long amount = roll(10);
    if (i % 16 == 0) {
      long sum = 0;
      __transaction_atomic {
        for (long b : balance) sum += b;
      }
      CHECK(sum == each * accounts);
    } else if (i % 7 == 0) {
      // Cancels what would overdraw.
      __transaction_atomic {
        balance[from] -= amount;
        balance[to] += amount;
        if (balance[from] < 0) __transaction_cancel;
      }
    } else {
      __transaction_atomic {
        balance[from] -= amount;
        balance[to] += amount;
      }
    }
  }
}

}  // namespace

int main() {
  for (long& b : balance) b = each;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work, i);
  for (auto& t : all) t.join();
  long sum = 0;
  for (long b : balance) sum += b;
  CHECK(sum == each * accounts);
}
