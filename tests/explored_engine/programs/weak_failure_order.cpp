// Who is second fails, whoever that is: also where the order of failure is weaker than that of
// success.
// Expect: 1 failed check: .*mine
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<int> owner{0};

bool win() {
  int nobody = 0;
  return owner.compare_exchange_strong(nobody, 1, std::memory_order_seq_cst,
                                       std::memory_order_relaxed);
}

int main() {
  std::thread other([] { win(); });
  const bool mine = win();
  other.join();
  assert(mine);
}
