// Transactions that always write, and soon, so that an algorithm may have them write from their
// beginning, with code that does not tell of each access; beside others that look at what they
// write, at blocks that they free, and that write now and then themselves.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "check.h"

extern "C" [[gnu::transaction_pure]] unsigned _ITM_inTransaction();
extern "C" void _ITM_addUserCommitAction(void (*)(void*), unsigned long, void*);

namespace {

// As many rounds as a few seconds allow: where writers wait for readers that have no processor, a
// round takes a time slice.
constexpr int most_rounds = 100000;
constexpr auto long_enough = std::chrono::seconds(5);
constexpr std::size_t words = 64, large = 256 * 1024 / sizeof(long);  // its own mapping, if large

struct block {
  std::size_t size;
  long at[];
};
block* first;
long written, committed, aside;
int rounds;
std::atomic<int> seen_alone{0};
std::atomic<bool> done{false}, looked{false}, learned{false};

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

void write_once() {
  replace(rounds % 16 == 0 ? large : words);
  count();
  ++rounds;
}

void write() {
  const auto end = std::chrono::steady_clock::now() + long_enough;
  while (rounds < most_rounds && std::chrono::steady_clock::now() < end) write_once();
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
void look_once() {
  bool right = false;
  __transaction_atomic { right = is_whole(); }
  CHECK(right);
}
// First only there, so that nobody who waits for a processor disturbs what the writer learns.
void look() {
  look_once();
  looked = true;
  while (!learned) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  while (!done) look_once();
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
  std::thread reader(look);
  while (!looked) std::this_thread::yield();
  while (rounds < 1000) write_once();
  const bool at_once = seen_alone > 0;
  learned = true;
  std::thread both(look_and_write);
  write();
  reader.join();
  both.join();
  CHECK(rounds != 0 && written == 2L * rounds && committed == rounds);
  std::free(first);
  // Else nothing of this was tested. (With all others, either nobody writes so, or everybody.)
  const char* const choice = std::getenv("SYNCOPATE_TM");
  if (choice != nullptr && std::string(choice) == "eager_norec") CHECK(at_once);
}
