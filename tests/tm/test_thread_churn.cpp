// Threads that come and go by the thousand, each with a transaction or two, one of them in a
// destructor of a thread_local object.
#include "check.h"

#include <thread>
#include <vector>

namespace {

long x;
struct last_words {
  long* to;
  ~last_words() {
    __transaction_atomic { ++*to; }
  }
};

void work() {
  static thread_local last_words at_end{&x};
  __transaction_atomic { ++*at_end.to; }
}

}  // namespace

int main() {
  for (int i = 0; i < 200; ++i) {
    std::vector<std::thread> all;
    for (int k = 0; k < 8; ++k) all.emplace_back(work);
    for (auto& t : all) t.join();
  }
  CHECK(x == 2 * 200 * 8);
}
