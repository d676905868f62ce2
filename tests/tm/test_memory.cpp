// Transactions that outgrow every log, that allocate and free a lot, and that run out of memory.
#include "check.h"

#include <new>
#include <thread>
#include <vector>

#include <sys/resource.h>

namespace {

constexpr int words = 200000;
long big[words];

void outgrow() {
  for (int round = 1; round <= 3; ++round) {
    long sum = 0;
    __transaction_atomic {
      for (int i = 0; i < words; ++i) big[i] = big[i] + i;
      for (int i = 0; i < words; ++i) sum += big[i];
    }
    CHECK(sum == round * (words - 1l) * words / 2);
  }
}

struct node {
  node* next;
  long payload[6];
};
node* stack;

void push_and_pop() {
  for (int i = 0; i < 20000; ++i) {
    __transaction_atomic {
      node* const n = new node;
      n->next = stack;
      for (long& p : n->payload) p = i;
      stack = n;
    }
    bool whole = true;
    __transaction_atomic {
      if (node* const n = stack) {
        for (long p : n->payload) whole = whole && p == n->payload[0];
        stack = n->next;
        delete n;
      }
    }
    CHECK(whole);
  }
}

// The program's new throws; the transaction commits what it had done.
void run_out() {
  const rlimit limit{256u << 20, 256u << 20};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  static long before;
  bool caught = false;
  try {
    __transaction_atomic {
      ++before;
      char* const p = new char[1ul << 40];
      p[0] = 1;
    }
  } catch (const std::bad_alloc&) {
    caught = true;
  }
  CHECK(caught && before == 1);
  void* none = &none;
  __transaction_atomic { none = std::malloc(1ul << 40); }
  CHECK(none == nullptr);
}

}  // namespace

int main() {
  outgrow();
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(push_and_pop);
  for (auto& t : all) t.join();
  CHECK(stack == nullptr);
  run_out();
}
