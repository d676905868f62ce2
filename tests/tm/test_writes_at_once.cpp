// Transactions that always write, and soon, so that an algorithm may have them write from their
// beginning, with code that does not tell of each access; beside others that look at what they
// write, at blocks that they free, and that write now and then themselves.
#include <atomic>
#include <string>
#include <thread>

#include "check.h"

extern "C" [[gnu::transaction_pure]] unsigned _ITM_inTransaction();
extern "C" void _ITM_addUserCommitAction(void (*)(void*), unsigned long, void*);

namespace {

constexpr int rounds = 100000;
constexpr std::size_t words = 64, large = 256 * 1024 / sizeof(long);  // its own mapping, if large

struct block {
  std::size_t size;
  long at[];
};
block* first;
long written, committed, aside;
std::atomic<int> seen_alone{0};
std::atomic<bool> done{false};

[[gnu::transaction_pure, gnu::noinline]] void look_how() {
  if (_ITM_inTransaction() == 2) seen_alone.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::noinline]] void replace(std::size_t size) {
  __transaction_atomic {
    ++written;
    look_how();
    block* const old = first;
    block* const fresh = static_cast<block*>(std::malloc(sizeof(block) + size * sizeof(long)));
    fresh->size = size;
    for (std::size_t i = 0; i < words; ++i) fresh->at[i] = written;
    fresh->at[size - 1] = written;
    first = fresh;
    for (std::size_t i = 0; i < old->size; i += 512) old->at[i] = -2;
    std::free(old);
  }
}

[[gnu::noinline]] void note(void*) { ++committed; }  // on the only thread that has this action
[[gnu::transaction_pure, gnu::noinline]] void when_committed() {
  _ITM_addUserCommitAction(note, 1, nullptr);
}

[[gnu::noinline]] void count() {
  __transaction_atomic {
    ++written;
    look_how();
    when_committed();
  }
}

void write() {
  for (int i = 0; i < rounds; ++i) {
    replace(i % 16 == 0 ? large : words);
    count();
  }
  done = true;
}

// Looks at all of the block, as it was at one moment.
[[gnu::noinline, gnu::transaction_safe]] bool is_whole() {
  const long all = first->at[0];
  if (first->at[first->size - 1] != all || all < 0 || all > written) return false;
  for (std::size_t i = 0; i < words; ++i)
    if (first->at[i] != all) return false;
  return true;
}
void look() {
  while (!done) {
    bool right = false;
    __transaction_atomic { right = is_whole(); }
    CHECK(right);
  }
}
void look_and_write() {
  for (long n = 1; !done; ++n) {
    bool right = false;
    __transaction_atomic {
      right = is_whole();
      aside = n;
      if (aside != n) right = false;
    }
    CHECK(right);
  }
}

}  // namespace

int main() {
  first = static_cast<block*>(std::calloc(1, sizeof(block) + words * sizeof(long)));
  first->size = words;
  std::thread reader(look), both(look_and_write);
  write();
  reader.join();
  both.join();
  CHECK(written == 2 * rounds && committed == rounds);
  std::free(first);
  // Else nothing of this was tested. (With all others, either nobody writes so, or everybody.)
  const char* const choice = std::getenv("SYNCOPATE_TM");
  if (choice != nullptr && std::string(choice) == "eager_norec") CHECK(seen_alone > rounds);
}
