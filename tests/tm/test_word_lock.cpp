// Mutexes as words: they exclude; transactions try them, keep them and give them back, or take that
// back; who waits for a condition under one is woken, and nothing is lost.
#include "check.h"

#include <syncopate/tm/word_lock.h>

#include <thread>
#include <vector>

namespace {

constexpr int threads = 4, rounds = 1000, items = 8;

pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t item_locks[items];
long counter, values[items], next_item;

volatile bool yes = true;
[[gnu::transaction_pure]] bool true_now() { return yes; }

// ---- exclusion ----------------------------------------------------------------------------------

void count() {
  tm_word_acquire(&guard);
  counter = counter + 1;  // plain
  tm_word_release(&guard);
}

[[gnu::transaction_safe]] bool try_item(long item) {
  return tm_word_trylock(&item_locks[item]) == 0;
}

// An item that nobody has, found in a transaction and held behind it.
long take_any() {
  long taken = -1;
  __transaction_atomic {
    for (long tries = 0; tries < items && taken < 0; ++tries) {
      const long item = next_item++ % items;
      if (try_item(item)) taken = item;
    }
  }
  return taken;
}

void change_items(long& changes) {
  const long item = take_any();
  if (item < 0) return;
  values[item] = values[item] + 1;  // plain
  ++changes;
  tm_word_release(&item_locks[item]);
}

void test_exclusion() {
  std::vector<std::thread> all;
  long changes[threads] = {};
  for (long& mine : changes)
    all.emplace_back([&mine] {
      for (int i = 0; i < rounds; ++i) count(), change_items(mine);
    });
  for (std::thread& t : all) t.join();
  CHECK(counter == threads * rounds);
  long sum = 0, expected = 0;
  for (long value : values) sum += value;
  for (long each : changes) expected += each;
  CHECK(sum == expected && sum > 0);
}

// ---- trying, and taking it back -----------------------------------------------------------------

void test_try() {
  CHECK(tm_word_trylock(&guard) == 0);
  CHECK(tm_word_trylock(&guard) == EBUSY);  // also for its own thread
  __transaction_atomic {
    tm_word_release(&guard);
    if (true_now()) __transaction_cancel;
  }
  CHECK(tm_word_trylock(&guard) == EBUSY);
  CHECK(tm_word_release(&guard) == 0);
  __transaction_atomic {
    try_item(0);
    if (true_now()) __transaction_cancel;
  }
  CHECK(try_item(0));
  tm_word_release(&item_locks[0]);
}

// ---- conditions ---------------------------------------------------------------------------------

tm_cond became_even = TM_COND_INITIALIZER, became_odd = TM_COND_INITIALIZER;
long turn;

// Each waits in the middle of its section until it is its turn.
void alternate(long parity, tm_cond* mine, tm_cond* other) {
  tm_word_acquire(&guard);
  for (int i = 0; i < rounds; ++i) {
    while (turn % 2 != parity) tm_word_wait(mine, &guard);
    turn = turn + 1;
    tm_cond_signal(other);
  }
  tm_word_release(&guard);
}

void test_conditions() {
  std::thread odd(alternate, 1, &became_odd, &became_even);
  alternate(0, &became_even, &became_odd);
  odd.join();
  CHECK(turn == 2 * rounds);
}

}  // namespace

int main() {
  for (pthread_mutex_t& lock : item_locks) pthread_mutex_init(&lock, nullptr);
  test_exclusion();
  test_try();
  test_conditions();
  return 0;
}
