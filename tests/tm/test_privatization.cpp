// A thread takes a node out of a shared place by a transaction and then uses it without: nobody
// reads or writes the node any more. And puts it back likewise (publication).
#include "check.h"

#include <atomic>
#include <thread>
#include <vector>

namespace {

struct node {
  long a, b;
};
node nodes[2] = {{0, 0}, {0, 0}};
node* shared[2] = {&nodes[0], &nodes[1]};
std::atomic<bool> stop{false};

void user(unsigned number) {
  dice roll(number);
  while (!stop) {
    const unsigned which = roll(2);
    bool equal = true;
    __transaction_atomic {
      if (node* const n = shared[which]) {
        ++n->a;
        equal = n->a == n->b + 1;
        ++n->b;
      }
    }
    CHECK(equal);
  }
}

void owner() {
  for (int i = 0; i < 20000; ++i) {
    node* mine = nullptr;
    const unsigned which = i & 1;
    __transaction_atomic {
      mine = shared[which];
      shared[which] = nullptr;
    }
    // Plain accesses from here on.
    volatile node* const n = mine;
    const long a = n->a;
    CHECK(n->b == a);
    n->a = a + 1;
    for (int k = 0; k < 10; ++k) CHECK(n->a == a + 1 && n->b == a);
    n->b = a + 1;
    __transaction_atomic { shared[which] = mine; }
  }
  stop = true;
}

}  // namespace

int main() {
  std::vector<std::thread> all;
  for (int i = 0; i < 2; ++i) all.emplace_back(user, i);
  owner();
  for (auto& t : all) t.join();
}
