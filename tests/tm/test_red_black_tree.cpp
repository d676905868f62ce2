// A red-black tree that several threads change: transactions check, inside, that it is one.
// Options: -DSTAMP_GNU_TM
#include "../../papers/workloads/stamp/containers/red_black_tree.h"

#include <thread>
#include <vector>

#include "check.h"

namespace {

using red_black_tree = workloads::stamp::red_black_tree<unsigned, unsigned>;

constexpr unsigned keys = 128, threads = 4;
constexpr int rounds = 8000;
red_black_tree tree;
int size;

bool audit() {
  int count = 0;
  for (const red_black_tree::node* n = tree.first(); n != nullptr;
       n = red_black_tree::next(const_cast<red_black_tree::node*>(n)), ++count)
    if (n->value != ~n->key) return false;
  return count == size && tree.valid();
}

void work(unsigned number) {
  dice roll(number);
  for (int i = 0; i < rounds; ++i) {
    const unsigned key = roll(keys), what = roll(10);
    bool right = true;
    __transaction_atomic {
      if (what < 4) size += tree.insert(key, ~key) ? 1 : 0;
      else if (what < 8) size -= tree.erase(key) ? 1 : 0;
      if (what == 0 || what >= 8) right = audit();
    }
    CHECK(right);
  }
}

}  // namespace

int main() {
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t) all.emplace_back(work, t);
  for (auto& t : all) t.join();
  CHECK(size > 0 && audit());
}
