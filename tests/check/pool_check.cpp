// pool_check.cpp -- node_pool under every interleaving: nobody has a node that another has, and
// what its last user wrote in it happens-before its next use.
#include <syncopate/locks/node_pool.h>

#include "check.h"

namespace {

struct node {
  int users;  // plain: two users at once, or one after the other without order, are a race
};
using pool = syncopate::node_pool<node>;

void use(std::uint32_t index) {
  const int before = ++pool::at(index).users;
  assert(pool::at(index).users == before);
}

// Two threads that take, use and give back twice: nodes change hands.
void two_threads() {
  auto taker = [] {
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t mine = pool::take();
      use(mine);
      pool::give_back(mine);
    }
  };
  auto also = taker;
  check::together(taker, also);
}

// A node comes back with another successor than before: who takes it must not follow the old link
// to a node that is in use.
void old_link() {
  auto owner = [] {
    const std::uint32_t a = pool::take(), b = pool::take();
    pool::give_back(b);
    pool::give_back(a);  // a, then b
    const std::uint32_t c = pool::take(), d = pool::take();
    assert(c != d);
    pool::give_back(c);  // alone
    use(d);
  };
  auto taker = [] {
    const std::uint32_t a = pool::take(), b = pool::take();
    assert(a != b);
    use(a);
    use(b);
  };
  check::together(owner, taker);
}

constexpr check::scenario scenarios[] = {
    {"two_threads", two_threads},
    {"old_link", old_link},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
