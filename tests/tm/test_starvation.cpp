// A transaction that loses to others again and again has its turn: another thread commits what it
// has read before it reads the next word, in each of its attempts, up to a number that the
// contention manager must not need.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "check.h"

extern "C" [[gnu::transaction_pure]] unsigned _ITM_inTransaction();

namespace {

constexpr int most_commits = 12;

long x, y;
std::string choice;  // SYNCOPATE_TM
// Nothing but the number of its failures ends them.
bool is_exact() { return choice == "norec" || choice == "lazy"; }
std::atomic<int> asked{0}, done{0}, attempts{0};

// Has the other thread commit, which it cannot where this transaction runs alone. Nor may it where
// this one has locked what it has read: then this returns later.
[[gnu::transaction_pure, gnu::noinline]] void let_the_other_commit() {
  constexpr unsigned runs_alone = 2;
  ++attempts;
  if (_ITM_inTransaction() == runs_alone) return;
  const int number = ++asked;
  const auto limit =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(is_exact() ? 60'000 : 300);
  while (done < number && done < most_commits && std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
}

void commit_when_asked() {
  for (int i = 0; i < most_commits; ++i) {
    while (asked <= i) std::this_thread::yield();
    __transaction_atomic {
      ++x;
      ++y;
    }
    ++done;
  }
}

int expected_at_most() {
  constexpr int hourglass_after = 4, serialize_after = 8;
  if (choice.empty()) return most_commits + 1;  // GCC's library
  if (choice.ends_with(":backoff") || choice.ends_with(":none")) return most_commits + 1;
  return 1 + (choice.ends_with(":hourglass") ? hourglass_after : serialize_after);
}

}  // namespace

int main() {
  if (const char* const value = std::getenv("SYNCOPATE_TM")) choice = value;
  std::thread other(commit_when_asked);
  long first = 0, second = 0;
  __transaction_atomic {
    first = x;
    let_the_other_commit();
    second = y;
  }
  CHECK(first == second);
  const int needed = attempts;
  asked = most_commits;
  other.join();
  CHECK(x == most_commits && y == most_commits);
  CHECK(needed >= 1 && needed <= expected_at_most());
  if (is_exact()) CHECK(needed == expected_at_most());
}
