// qsort, assert and abort in transactions.
#include "check.h"

#include <syncopate/tm/libc.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

namespace {

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

struct record {
  int key;
  int before;
  char more[5];
};
constexpr unsigned most = 300;
record records[most], wanted[most];
int calls;

[[gnu::transaction_safe]] int by_key(const void* a, const void* b) {
  ++calls;
  const int l = static_cast<const record*>(a)->key, r = static_cast<const record*>(b)->key;
  return l < r ? -1 : l > r;
}

bool same_as_wanted(unsigned n) { return std::memcmp(records, wanted, n * sizeof records[0]) == 0; }

void check_sort(unsigned n, dice& roll) {
  for (unsigned i = 0; i < n; ++i)
    records[i] = {static_cast<int>(roll(n)), static_cast<int>(i), {'a', 'b'}};
  std::copy_n(records, n, wanted);
  __transaction_atomic {
    tm_qsort(records, n, sizeof records[0], by_key);
    if (true_now()) __transaction_cancel;
  }
  CHECK(same_as_wanted(n));
  std::stable_sort(wanted, wanted + n, [](auto& a, auto& b) { return a.key < b.key; });
  calls = 0;
  __transaction_atomic {
    tm_qsort(records, n, sizeof records[0], by_key);
    if (!true_now()) __transaction_cancel;
  }
  CHECK(same_as_wanted(n) && (n < 2 || calls >= static_cast<int>(n) - 1));
  std::random_shuffle(records, records + n, [&](long below) { return roll(below); });
  tm_qsort(records, n, sizeof records[0], by_key);
  for (unsigned i = 0; i < n; ++i) CHECK(records[i].key == wanted[i].key);
}

// Two threads rotate the keys and sort them again; both always find them sorted.
void rotate_and_sort(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    bool sorted = true;
    __transaction_atomic {
      for (unsigned k = 1; k < 20; ++k) sorted = sorted && records[k - 1].key <= records[k].key;
      records[0].key += 20;
      tm_qsort(records, 20, sizeof records[0], by_key);
    }
    CHECK(sorted);
  }
}

int value = 1;

// What the child wrote to standard error before SIGABRT ended it.
template <class Body>
std::string dies(Body body) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  char said[400];
  const ssize_t length = read(ends[0], said, sizeof said);
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  return {said, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

void check_end() {
  const std::string said = dies([] {
    __transaction_atomic {
      ++value;
      tm_assert(value == 1);
    }
  });
  CHECK(said.find("value == 1") != std::string::npos);
  CHECK(said.find("test_libc_sorting.cpp") != std::string::npos);
  dies([] {
    __transaction_atomic {
      value = 5;
      if (value == 5) tm_abort();
      if (true_now()) __transaction_cancel;
    }
  });
  __transaction_atomic { tm_assert(value == 1); }
  CHECK(value == 1);
}

}  // namespace

int main() {
  dice roll(1);
  for (const unsigned n : {0u, 1u, 2u, 3u, 7u, 64u, 100u, most}) check_sort(n, roll);
  for (int k = 0; k < 20; ++k) records[k].key = k;
  std::thread other(rotate_and_sort, 300);
  rotate_and_sort(300);
  other.join();
  check_end();
}
