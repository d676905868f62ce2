// Every execution finds variables, thread_local variables, heap and mappings as the first one did.
// Expect: 0 explored: passed: [2-9]
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>

int initialized = 5, zero;
std::string text = "at start, in a block of the heap";
std::vector<int>* list = nullptr;
thread_local int mine = 3;
std::atomic<int> turn{0};
std::atomic<void*> mapped{nullptr};

int main() {
  assert(initialized == 5 && zero == 0 && mine == 3 && list == nullptr && mapped.load() == nullptr);
  assert(text == "at start, in a block of the heap");
  static bool run_before = false;
  assert(!run_before);
  run_before = true;
  initialized = 6, zero = 1, mine = 4;
  text = "changed, and much longer than it was before, so that it has another block";
  list = new std::vector<int>(100, 1);
  void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mapped.store(page);
  std::thread other([] {
    assert(mine == 3);
    mine = 9;
    turn.fetch_add(1);
  });
  turn.fetch_add(1);
  turn.load(std::memory_order_relaxed);
  other.join();
  assert(mapped.load() == page);
}
